#include "models/compute/gpu_variation.hpp"

#include <cmath>

namespace forescale {
namespace {

double normal_distribution(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

}  // namespace

// The integral of the chance that the largest is above x, over x > 0, less that it is below, over
// x < 0: both at once by the midpoint rule.
double expected_largest(int count) {
  constexpr double kFar = 9;  // beyond which 1 - F^count and F^count are nothing
  constexpr int kSteps = 2000;
  constexpr double kStep = kFar / kSteps;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double x = (i + 0.5) * kStep;
    // 1 - F(x)^count, of a chance of being above that is small.
    sum -= std::expm1(count * std::log1p(-normal_distribution(-x)));
    sum -= std::pow(normal_distribution(-x), count);
  }
  return sum * kStep;
}

double slowest_of(int gpus, double variation) {
  return variation > 0 ? 1 + variation * expected_largest(gpus) : 1;
}

}  // namespace forescale
