#pragma once

#include <vector>

namespace forescale {

// The mean of the middle two of an even count; 0 of nothing.
double median(std::vector<double> values);

}  // namespace forescale
