// What the ranks contribute to a collective that is executed, and what they must have afterwards:
// small whole numbers, whose sums FP32 holds exactly, computed serially from the definition of the
// operation in algorithms/collective.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/collective.hpp"

namespace forescale {

// A rank's buffer before the collective, [buffer_bytes / 4]; NaN where it has nothing to say.
std::vector<float> collective_input(CollectiveOp op, const CollectiveCall& call, int rank);

struct WrongElement {
  std::int64_t element = -1;  // of the buffer; -1: everything is right
  float found = 0;
  float expected = 0;
};

// The first element of the result that is not exactly what it must be.
WrongElement first_wrong(CollectiveOp op, const CollectiveCall& call, int rank,
                         const std::vector<float>& buffer);

}  // namespace forescale
