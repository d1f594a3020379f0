// The median of repeated measurements and how sure it is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace forescale {

struct SampleSummary {
  double median = 0;
  double low = 0;  // 95 % interval of the median; the extremes for fewer than 6 samples
  double high = 0;
  double p10 = 0;
  double p90 = 0;
  int samples = 0;

  // Half of the interval's width is at most `relative` of the median, and the interval is one.
  bool is_within(double relative) const {
    return samples >= 6 && high - low <= 2 * relative * median;
  }
};

// How many of `samples` sorted values may be left out at each end so that the rest still covers the
// median with 95 %, whatever their distribution: the number below the median is binomial with 1/2.
inline std::size_t outside_median_interval(std::size_t samples) {
  double log_probability = static_cast<double>(samples) * std::log(0.5);  // of 0 below
  double below = std::exp(log_probability);
  std::size_t outside = 0;
  while (below <= 0.025 && outside < samples / 2) {
    ++outside;
    log_probability +=
        std::log(static_cast<double>(samples - outside + 1) / static_cast<double>(outside));
    below += std::exp(log_probability);
  }
  return outside == 0 ? 0 : outside - 1;
}

inline double quantile_of_sorted(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

inline SampleSummary summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const std::size_t outside = outside_median_interval(samples.size());
  return {.median = quantile_of_sorted(samples, 0.5),
          .low = samples[outside],
          .high = samples[samples.size() - 1 - outside],
          .p10 = quantile_of_sorted(samples, 0.1),
          .p90 = quantile_of_sorted(samples, 0.9),
          .samples = static_cast<int>(samples.size())};
}

}  // namespace forescale
