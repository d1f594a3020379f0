// The program of one measured rank.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "traces/measured/dependencies.hpp"
#include "traces/program/program.hpp"

namespace forescale {

struct RankTimes {
  double begin_s = 0;         // when it begins, after the first rank
  double compute_factor = 1;  // of its kernels' times
};

struct RankBuild {
  ProgramRank program;
  std::vector<int> requests = {};  // by collective
  double compute_s = 0;            // kernels, or the host's own work where there is no GPU
  double unexplained_s = 0;        // waits for nothing that the trace shows, kept
};

// `step_of` gives the step of a collective by its index: size, group and communicator.
RankBuild build_rank(const MeasuredRank& rank, const Dependencies& dependencies,
                     const RankTimes& times, const std::function<CollectiveStep(int)>& step_of);

// What kernels would take alone: where several ran at once each counts its share of the time.
// By task; collectives and copies keep their own.
std::vector<std::int64_t> work_ns(const MeasuredRank& rank);

}  // namespace forescale
