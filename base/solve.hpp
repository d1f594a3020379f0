#pragma once

#include <functional>

namespace forescale {

struct Bracket {
  double low = 0;
  double high = 0;
};

// x at which a function that rises over the bracket from below `wanted` (> 0) to above it is within
// the share `within` of it, or beside the jump by which it passes it. From `start` by secants, by
// halves of the bracket where they leave it; 60 values are asked for at most.
double solve_rising(double wanted, const std::function<double(double)>& value_at, Bracket bracket,
                    double start, double within);

}  // namespace forescale
