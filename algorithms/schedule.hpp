// Training schedules: how a strategy orders compute and communication on one rank. One file each in
// algorithms/schedules/, registered by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/worker.hpp"
#include "models/registry.hpp"

namespace forescale {

// A layer with parameters, together with the parameterless layers that follow it.
struct TrainingStage {
  std::string name;
  double forward_s = 0;  // on this rank's share of the batch
  double backward_s = 0;
  double update_s = 0;  // ApplyUpdate of its parameters
  std::int64_t parameter_bytes = 0;
};

// What one rank trains. Stages in forward order.
struct TrainingJob {
  std::vector<TrainingStage> stages;
  int iterations = 1;

  std::int64_t parameter_bytes() const {
    std::int64_t total = 0;
    for (const TrainingStage& stage : stages) total += stage.parameter_bytes;
    return total;
  }
};

struct Schedule {
  std::string name;
  std::string summary;
  std::string source;
  // The main thread of a rank, for all iterations.
  void (*run)(Worker& worker, const TrainingJob& job) = nullptr;
};

}  // namespace forescale
