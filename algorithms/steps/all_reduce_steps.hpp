// What data-parallel training on all-reduce is made of: gradients in the order in which they
// appear, and the update that every rank applies to its own copy of the parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "algorithms/tensors.hpp"

namespace forescale {

// Gradients [begin, end) of a list, reduced together.
struct GradientGroup {
  size_t begin = 0;
  size_t end = 0;
  std::int64_t bytes = 0;
};

// tensors_of() in the order in which their gradients appear: the last one first.
std::vector<Tensor> gradients_of(const TrainingJob& job);
// The all-reduce of `bytes` over all workers.
CollectiveStep all_reduce(std::int64_t bytes, const std::string& what);
// Copies `bytes` inside GPU memory on `stream`, such as into a fusion buffer.
Kernel pack(const TrainingJob& job, std::int64_t bytes, int stream, const std::string& label);
// The rank applies the update of all parameters to its own copy.
void update_own_copy(Worker& worker, const TrainingJob& job);
// What every all-reduce schedule does on one worker: no communication.
void train_alone(Worker& worker, const TrainingJob& job);
// All-reduces of the groups, in their order.
Traffic all_reduce_traffic(const std::vector<GradientGroup>& groups);

}  // namespace forescale
