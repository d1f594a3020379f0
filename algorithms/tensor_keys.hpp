// A model as the list of its tensors, each communicated by itself.
#pragma once

#include <cstddef>
#include <vector>

#include "algorithms/schedule.hpp"

namespace forescale {

struct TensorKey {
  size_t stage = 0;  // of the job
  std::int64_t bytes = 0;
};

// From the first stage on; a stage that does not name its tensors has one.
inline std::vector<TensorKey> tensor_keys(const TrainingJob& job) {
  std::vector<TensorKey> keys;
  for (size_t stage = 0; stage < job.stages.size(); ++stage) {
    const TrainingStage& layer = job.stages[stage];
    if (layer.tensor_bytes.empty() && layer.parameter_bytes > 0)
      keys.push_back({.stage = stage, .bytes = layer.parameter_bytes});
    for (const std::int64_t bytes : layer.tensor_bytes)
      keys.push_back({.stage = stage, .bytes = bytes});
  }
  return keys;
}

}  // namespace forescale
