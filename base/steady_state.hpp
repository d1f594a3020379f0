// The period of a training run once it has settled: one rule for simulated and for real iterations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace forescale {

struct SteadyState {
  // The last period where it equals the one before; else the mean of those after the first third
  // (asynchronous schedules: of every rank's own, weighted by its images).
  double period_s = 0;
  // The two halves of those periods agree within 1 % (2 %); where fewer than four count, 0.1 %.
  bool is_steady = true;
  std::size_t begin = 0;            // the first iteration that counts
  std::vector<double> periods_s{};  // of all iterations, the first from time 0
};

// The first of `count` iterations that may count.
inline std::size_t first_to_count(std::size_t count) { return count < 2 ? 0 : (count + 2) / 3; }

// "mean of iterations 3 to 6 of 6; each ends when all that it launched is done": what the period
// of `count` iterations, of which those from `begin` on count, is.
std::string counted_text(std::size_t count, std::size_t begin);

// `ends_s[rank][i]`: when worker `rank` finished iteration i; all ranks as many. Of one iteration
// the whole. `images[rank]`: of an iteration, for asynchronous schedules.
SteadyState steady_state(const std::vector<std::vector<double>>& ends_s,
                         const std::vector<std::int64_t>& images, bool is_asynchronous);

}  // namespace forescale
