// `forescale algorithm check`: every plan delivers each contribution once, without deadlock.
#pragma once

#include <string>

namespace forescale {

struct AlgorithmCheck {
  std::string op;         // empty: all operations
  std::string algorithm;  // empty: all of the operation
  std::string ranks;      // "5", "2,4" or "1..17", every count of a range; empty: 1..33
};

// Prints a line a collective, with the problems of the first call that is wrong. CheckFailed if any
// is; InputError for what AlgorithmCheck says wrongly.
void check_algorithms(const AlgorithmCheck& check);

}  // namespace forescale
