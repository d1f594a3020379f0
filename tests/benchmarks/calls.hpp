// The calls that docs/performance.md speaks of.
#pragma once

#include <fmt/format.h>

#include "algorithms/collective.hpp"
#include "sim/run/session.hpp"
#include "topologies/platform.hpp"

namespace forescale::benchmarks {

inline constexpr std::int64_t kMiB = 1 << 20;

inline std::string star_of(std::int64_t hosts) {
  return fmt::format("star:hosts={},bandwidth=12.5GB/s,latency=1us", hosts);
}

struct Question {
  CollectiveOp op = CollectiveOp::kReduce;
  AlgorithmChoice choice;
  std::int64_t bytes = 0;

  const Collective& collective() const {
    return find_collective(op, choice.algorithm, "benchmark");
  }
  CollectiveCall call(std::int64_t ranks) const {
    CollectiveCall made;
    made.rank_count = static_cast<int>(ranks);
    made.bytes = bytes;
    made.options = choice.options;
    return made;
  }
};

// 100 MiB, the gradients of a large convolutional network.
inline Question ring() {
  return {.op = CollectiveOp::kAllReduce,
          .choice = {.algorithm = "ring", .options = {}},
          .bytes = 100 * kMiB};
}

// CB-8, 64 chunks of 4 MiB.
inline Question cb8() {
  return {.op = CollectiveOp::kReduce,
          .choice = {.algorithm = "cb", .options = {.chunk_bytes = 4 * kMiB, .chain_size = 8}},
          .bytes = 256 * kMiB};
}

inline Question binomial() {
  return {.op = CollectiveOp::kReduce,
          .choice = {.algorithm = "binomial", .options = {}},
          .bytes = 256 * kMiB};
}

}  // namespace forescale::benchmarks
