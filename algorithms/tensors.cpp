#include "algorithms/tensors.hpp"

namespace forescale {

std::vector<Tensor> tensors_of(const TrainingJob& job) {
  std::vector<Tensor> tensors;
  for (size_t stage = 0; stage < job.stages.size(); ++stage) {
    const TrainingStage& layer = job.stages[stage];
    if (layer.tensor_bytes.empty() && layer.parameter_bytes > 0)
      tensors.push_back(
          {.stage = stage, .bytes = layer.parameter_bytes, .value_bytes = job.value_bytes});
    for (const std::int64_t bytes : layer.tensor_bytes)
      if (bytes > 0)
        tensors.push_back({.stage = stage, .bytes = bytes, .value_bytes = job.value_bytes});
  }
  return tensors;
}

}  // namespace forescale
