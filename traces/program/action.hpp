// What a thread of a program does: one call of Worker.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "algorithms/worker.hpp"

namespace forescale {

// What a program may have, and its traces.
inline constexpr std::int64_t kProgramRanksMax = 1 << 20;
inline constexpr int kCommunicatorMax = 1 << 20;
inline constexpr std::int64_t kProgramBytesMax = std::int64_t{1}
                                                 << 50;  // of a message, a collective

struct ThreadStart {
  int thread = 0;  // of the same rank, started once
};

struct Action {
  enum class Kind : std::uint8_t {
    kKernel,
    kCollective,
    kSend,
    kReceive,
    kPut,
    kHostWork,
    kHostCopy,
    kTimer,
    kNextBatch,
    kSpawn,
    kSignal,
    kWait,
    kWaitAny,
    kTest,
    kSet,
    kEndIteration
  };
  Kind kind = Kind::kEndIteration;
  int id = -1;  // of the request that it makes, unique in its rank; -1: makes none
  std::vector<int> requests = {};  // of the rank, that it is about: kWait to kSet
  std::variant<std::monostate, Kernel, CollectiveStep, MessageStep, HostWork, HostCopy, Timer,
               ThreadStart>
      what = {};
};

}  // namespace forescale
