// What models leave out, as an uncertainty of a time.
#pragma once

namespace forescale {

// How much faster and slower, relative, it may be in 90 % of all cases when all inputs are as
// measured: 0.1 is 10 % less or more time.
struct Unmodelled {
  double faster = 0;
  double slower = 0;
};

}  // namespace forescale
