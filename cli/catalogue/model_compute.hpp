// What `forescale model show --gpu` adds: a network's times and memory on one GPU.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/compute/compute_time.hpp"
#include "models/compute/fitted_compute.hpp"

namespace forescale {

struct ComputeQuestion {
  std::string gpu;  // a name or a JSON file
  std::string gpu_model =
      {};  // a name or a JSON file of `calibrate fit`; empty: what predict takes
  std::string precision = {};  // empty: what frameworks take
  std::string memory_format = {};
  std::string fusion = {};
  std::int64_t batch = 0;  // images on that GPU
};

struct ComputeAnswer {
  std::int64_t batch = 0;
  GpuModel gpu = {};
  ComputeTable table = {};
  // With a GPU model: where each layer's passes come from.
  std::vector<LayerTimeSource> forward = {};
  std::vector<LayerTimeSource> backward = {};
  Bytes memory = {};
  Provenance provenance = {};
};

// InputError unless batch > 0 and the GPU is known.
ComputeAnswer compute_on(const Network& network, const ComputeQuestion& question);

// "forward_s" and "backward_s" into the rows, one a layer; with a GPU model "forward_from" and
// "backward_from".
void add_times(nlohmann::json& rows, const ComputeAnswer& answer);
nlohmann::json to_json(const ComputeAnswer& answer, const nlohmann::json& rows);
// Times of all layers together, memory, what is measured and what assumed; to stdout.
void print_compute(const ComputeAnswer& answer);

}  // namespace forescale
