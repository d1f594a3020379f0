#include "base/solve.hpp"

#include <algorithm>
#include <cmath>

namespace forescale {
namespace {

constexpr int kValuesMost = 60;

}  // namespace

double solve_rising(double wanted, const std::function<double(double)>& value_at, Bracket bracket,
                    double start, double within) {
  double x = std::clamp(start, bracket.low, bracket.high);
  double x_before = 0;  // as if it rose from zero in a straight line
  double value_before = 0;
  for (int i = 0; i < kValuesMost; ++i) {
    const double value = value_at(x);
    if (std::abs(value - wanted) < within * wanted) break;
    (value > wanted ? bracket.high : bracket.low) = x;
    const double next = x + (wanted - value) * (x - x_before) / (value - value_before);
    x_before = x;
    value_before = value;
    x = next > bracket.low && next < bracket.high ? next : (bracket.low + bracket.high) / 2;
  }
  return x;
}

}  // namespace forescale
