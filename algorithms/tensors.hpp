// A model as the list of its tensors, each communicated by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/schedule.hpp"

namespace forescale {

struct Tensor {
  size_t stage = 0;  // of the job
  std::int64_t bytes = 0;
  std::int64_t value_bytes = 4;
};

// In forward order, weights and biases apart; a stage that does not name its tensors has one.
std::vector<Tensor> tensors_of(const TrainingJob& job);

}  // namespace forescale
