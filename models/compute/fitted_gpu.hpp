// A GPU as `calibrate fit` found it: copies, launches, kernels by shape and layers by batch.
//
// File, "forescale-gpu-model-1" (JSON):
//   {"format", "name", "gpu": {facts: text}, "provenance": {text}, "notes": [text],
//    "launch_s": N, "synchronize_s": N,
//    "copies": [{"path": "host-to-device", "segments": [{"up_to_bytes", "alpha_s": N,
//      "seconds_per_byte": N}]}],
//    "kernels": [{"operation", "type", "pass", "precision", "count", "launch_s", "launch_ends_s":
//      [low, high], "flops_per_s", "flops_per_s_ends", "bytes_per_s", "bytes_per_s_ends",
//      "median_error", "p90_error", "ratio": N, "shape": {"offset", "amplitude", "lengths",
//      "points": [[features..., weight]]}}],
//    "layers": [{"network", "layer", "pass", "precision", "batch_min", "batch_max", "t0_s": N,
//      "t1_s": N}]}
// N is a number with its 95 % interval as "fast" and "slow" and its source (base/json_input.hpp).
// All but "format" and "name" may be missing. Paths are the patterns' names of measurements.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/compute/kernel_time.hpp"
#include "models/hardware.hpp"

namespace forescale {

// A scenario's value in `value` after reading.
struct RangedNumber {
  double value = 0;
  double low = 0;
  double high = 0;
  std::string source = {};
};

struct CopySegment {
  std::int64_t up_to_bytes = 0;  // the last one's line goes on
  RangedNumber alpha_s;
  RangedNumber seconds_per_byte;
};

struct CopyPath {
  std::string path;
  std::vector<CopySegment> segments;
  double time_s(double bytes) const;
};

// t0 + batch * t1 of one pass of one layer.
struct LayerLine {
  std::string network;
  std::string layer;
  KernelPass pass = KernelPass::kForward;
  Precision precision = Precision::kFp32;
  std::int64_t batch_min = 0;
  std::int64_t batch_max = 0;
  RangedNumber t0_s;
  RangedNumber t1_s;
};

struct FittedGpu {
  std::string name;
  std::map<std::string, std::string> facts;
  std::map<std::string, std::string> provenance;
  std::vector<std::string> notes;
  std::optional<RangedNumber> launch_s;
  std::optional<RangedNumber> synchronize_s;
  std::vector<CopyPath> copies;
  std::vector<KernelFit> kernels;
  std::vector<LayerLine> layers;
  double memory_times = 1;  // of the GPU that it stands for, over the rate of the one measured

  const CopyPath* find_copy(const std::string& path) const;
  const KernelFit* find_kernels(const KernelKind& kind) const;
  const LayerLine* find_layer(const std::string& network, const std::string& layer, KernelPass pass,
                              Precision precision) const;
  // To a GPU with another FP32 peak and memory than the `measured` one's, by the data sheets.
  void scale_kernels(const GpuModel& measured, FlopsPerSecond fp32, BytesPerSecond memory);
};

inline constexpr const char* kGpuModelFolder = "models/hardware/gpu_models";

// InputError with file, JSON pointer, value and constraint. `provenance` notes the numbers and
// chooses the scenario; may be null.
FittedGpu read_fitted_gpu(const std::string& file, Provenance* provenance);
// From kGpuModelFolder/NAME.json or a path; `option` names where NAME was said.
FittedGpu load_fitted_gpu(const std::string& name, const std::string& option,
                          Provenance* provenance);
nlohmann::json to_json(const FittedGpu& gpu);

// What was measured in place of the data sheet's or assumed numbers, which `provenance` (may be
// null) forgets: launch, synchronise, memory bandwidth (of the reduction: 3 bytes a byte; else of
// the copy: 2), host copy, memory.
GpuModel with_measured(GpuModel gpu, const FittedGpu& fitted, Provenance* provenance);

}  // namespace forescale
