// A network's compute table on a fitted GPU (fitted_gpu.hpp), layer by layer.
//
// A pass takes, in this order: its measured line t0 + batch * t1; the time of its kernels, or of
// those nearest to them (nearest_kernel.hpp), a line through batches 8 to 128; else the roofline of
// the data sheet with the memory bandwidth that was measured. Gradients of a convolution are one
// kernel each (or one measured "backward"); those of a fully connected layer are products. A
// framework adds to each kernel, its other layers take longer than their bytes, and the CPU needs
// its time to ask for each pass of a layer (assumptions.json); nothing is added to layers that were
// timed by name. Images channels first in half precision are turned around for tensor cores and
// back, which a GPU model whose convolutions were timed so has in them ("convolution_layout").
// Layers that run within the kernel before them take nothing (Fusion).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/compute/compute_time.hpp"
#include "models/compute/fitted_gpu.hpp"

namespace forescale {

enum class LayerTimeSource {
  kNone,       // no work on the GPU
  kMeasured,   // this layer
  kShapes,     // kernels of neighbouring shapes
  kRoofline,   // beyond the measured shapes: the roofline fitted on them
  kScaled,     // kernels of another precision, or products for a convolution
  kOtherGpu,   // kernels of another GPU
  kDataSheet,  // nothing of its kind was measured
};
const char* to_text(LayerTimeSource source);

// How a framework asks for kernels.
struct FrameworkKernels {
  Precision precision = Precision::kFp32;
  std::optional<Precision> products = {};  // of a transformer's layers, in place of it
  MemoryFormat memory_format = MemoryFormat::kNchw;
  Fusion fusion = Fusion::kNone;
  std::vector<std::int64_t> batches = {};  // that are asked for; a line through them, or 8 to 128
  bool is_dispatched = true;  // kernel by kernel, by the CPU: no CUDA graph, nor layers of a layout
};

struct FittedCompute {
  ComputeTable table;
  std::vector<LayerTimeSource> forward;  // one a layer
  std::vector<LayerTimeSource> backward;
};

// `gpu` is what with_measured() gave. `provenance` notes the assumed numbers; may be null.
FittedCompute fitted_compute(const FittedGpu& fitted, const GpuModel& gpu, const Network& network,
                             FrameworkKernels kernels, Provenance* provenance);

}  // namespace forescale
