#pragma once

#include <cmath>

namespace forescale {

// Huber's loss: half of the square up to `limit`, beyond it what goes on as steeply.
inline double huber(double residual, double limit) {
  const double size = std::abs(residual);
  return size < limit ? size * size / 2 : limit * (size - limit / 2);
}

}  // namespace forescale
