#include "calibrate/bench/gpu/repeat.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace forescale {
namespace {

constexpr double kWarmUpAgainBelow_s = 10e-3;

int count_of_sample(double once_s, const RepeatUntil& until, int count_max) {
  const double count = std::ceil(until.sample_s / std::max(once_s, 1e-9));
  return static_cast<int>(std::clamp(count, 1.0, static_cast<double>(count_max)));
}

}  // namespace

SampleSummary repeat(Repeatable& thing, const RepeatUntil& until, const GpuClock& clock) {
  const double begin_s = clock();
  if (thing.mean_s(1) < kWarmUpAgainBelow_s) thing.mean_s(1);
  const double once_s = thing.mean_s(1);
  const int count = count_of_sample(once_s, until, thing.count_max());
  std::vector<double> samples_s;
  if (count == 1) samples_s.push_back(once_s);
  const auto is_enough = [&] {
    if (samples_s.empty()) return false;
    const double now_s = clock();
    if (now_s >= until.end_s || static_cast<int>(samples_s.size()) >= until.samples_max)
      return true;
    if (now_s - begin_s >= until.most_s && samples_s.size() >= 2) return true;
    return summarize(samples_s).is_within(until.relative_interval);
  };
  while (!is_enough()) samples_s.push_back(thing.mean_s(count));
  return summarize(std::move(samples_s));
}

}  // namespace forescale
