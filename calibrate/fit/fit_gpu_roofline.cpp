#include "calibrate/fit/fit_gpu_roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/huber.hpp"

namespace forescale {
namespace {

constexpr double kHuber = 0.3;  // of the logarithm: what is further off pulls no harder
constexpr double kLaunch = 1e-5;
constexpr double kLaunchSpread = 0.7;  // of the logarithm: a factor of 2
constexpr double kFlopsAByte = 15;

// Logarithms of launch, FLOP/s and bytes/s.
using Numbers = std::array<double, 3>;

struct Work {
  double flops;
  double bytes;
  double log_time;
};

double square(double x) { return x * x; }

double loss(const Numbers& numbers, std::span<const Work> work) {
  const double launch = std::exp(numbers[0]);
  const double flops_per_s = std::exp(numbers[1]);
  const double bytes_per_s = std::exp(numbers[2]);
  double sum = 0;
  for (const Work& each : work)
    sum += huber(
        each.log_time - std::log(launch + each.flops / flops_per_s + each.bytes / bytes_per_s),
        kHuber);
  return sum / square(kHuber) + square((numbers[0] - std::log(kLaunch)) / kLaunchSpread) / 2 +
         square(numbers[1] - numbers[2] - std::log(kFlopsAByte)) / 2;
}

// Steps along the axes and along what keeps FLOP/s over bytes/s, halved where none helps.
Numbers descend(Numbers numbers, std::span<const Work> work) {
  constexpr std::array<Numbers, 5> kDirections{
      {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 1, 1}, {0, 1, -1}}};
  double best = loss(numbers, work);
  for (double step = 0.5; step > 1e-3; step /= 2) {
    bool improved = true;
    for (int round = 0; improved && round < 50; ++round) {
      improved = false;
      for (const Numbers& direction : kDirections)
        for (const double sign : {1.0, -1.0}) {
          Numbers tried = numbers;
          for (size_t i = 0; i < tried.size(); ++i) tried[i] += sign * step * direction[i];
          const double value = loss(tried, work);
          if (value >= best) continue;
          best = value;
          numbers = tried;
          improved = true;
        }
    }
  }
  return numbers;
}

// The rate that one kernel in ten exceeds.
double fast_rate(std::span<const Work> work, double Work::*amount) {
  std::vector<double> rates;
  for (const Work& each : work) rates.push_back(each.*amount / std::exp(each.log_time));
  const auto place = rates.begin() + static_cast<std::ptrdiff_t>((rates.size() - 1) * 9 / 10);
  std::nth_element(rates.begin(), place, rates.end());
  return *place;
}

}  // namespace

KernelRoofline fit_roofline(std::span<const TimedKernel> kernels) {
  std::vector<Work> work;
  for (const TimedKernel& each : kernels)
    work.push_back({.flops = flops_of(each.kernel),
                    .bytes = bytes_moved_by(each.kernel),
                    .log_time = std::log(each.time_s)});
  const double bytes_per_s = fast_rate(work, &Work::bytes);
  const double flops_per_s = std::max(fast_rate(work, &Work::flops), bytes_per_s);
  const auto start = [&](double bytes_rate) {
    return descend({std::log(kLaunch), std::log(flops_per_s), std::log(bytes_rate)}, work);
  };
  const Numbers one = start(bytes_per_s);
  const Numbers other = start(std::max(bytes_per_s, flops_per_s / kFlopsAByte));
  const Numbers& best = loss(one, work) <= loss(other, work) ? one : other;
  return {.launch_s = std::exp(best[0]),
          .flops_per_s = std::exp(best[1]),
          .bytes_per_s = std::exp(best[2])};
}

}  // namespace forescale
