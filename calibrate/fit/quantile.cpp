#include "calibrate/fit/quantile.hpp"

#include <algorithm>
#include <cmath>

namespace forescale {

double quantile(std::vector<double> values, double share) {
  const std::ptrdiff_t place = std::lround(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<size_t>(place)];
}

}  // namespace forescale
