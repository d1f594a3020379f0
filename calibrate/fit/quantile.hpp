#pragma once

#include <vector>

namespace forescale {

// The value that `share` of the values do not exceed: the nearest of them. At least one value,
// 0 <= share <= 1.
double quantile(std::vector<double> values, double share);

}  // namespace forescale
