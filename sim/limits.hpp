// How large a simulation may become: one in which every rank is simulated takes memory and time for
// each of them, and is refused before it begins where that is more than was allowed.
#pragma once

#include <cstdint>
#include <string>

namespace forescale {

struct SimulationLimits {
  std::int64_t ranks = 0;         // 0: kMaxRanks
  std::int64_t memory_bytes = 0;  // of all simulations beside each other; 0: what is free
  bool operator==(const SimulationLimits&) const = default;
};
inline constexpr std::int64_t kMaxRanks = 4096;

// What every rank of a simulation takes: of training 0.17 to 0.27 MB were measured, mostly stacks,
// of collectives 2 to 4 kB (docs/performance.md). Messages to servers come on top of it, 2 kB each
// of those under way: what they need nobody knows before, and limit_memory() holds it.
inline constexpr double kTrainingRankBytes = 300e3;
inline constexpr double kCollectiveRankBytes = 10e3;
// All-to-all: all messages at once.
inline constexpr double kCollectivePairBytes = 400;

// Why no rank stands for others.
inline constexpr const char* kAskedForWhole = "--whole asks for them";

struct WholeSimulation {
  std::string option;  // that asks for so many ranks: "--gpus"
  std::int64_t ranks = 0;
  double rank_bytes = 0;
  double pair_bytes = 0;
  std::string why;  // it cannot be a few in place of all; empty: so few are never folded
};
// Why the limits do not allow it, what would be allowed, and how they are raised; empty: they do.
std::string why_too_large(const WholeSimulation& simulation, const SimulationLimits& limits);
// InputError of it.
void check_size(const WholeSimulation& simulation, const SimulationLimits& limits);

// In the process of one simulation: looks ten times a second, and ends it with kOutOfMemory where
// it has become larger.
void limit_memory(const SimulationLimits& limits);
// In a process that was just started with others, so many of them at once: they share what their
// parent may still take, or the limit that will be set. One that becomes too large says so in the
// pipe, behind kReasonBegin.
void share_memory(int processes, int pipe);
inline constexpr int kOutOfMemory = 9;
inline constexpr char kReasonBegin = '\0';

}  // namespace forescale
