// A network's compute table on a fitted GPU (fitted_gpu.hpp), layer by layer.
//
// A pass takes, in this order: its measured line t0 + batch * t1; the time of its kernels by shape,
// a line through batches 8 to 128; where nothing of its kind was measured, the roofline of the data
// sheet with the memory bandwidth that was measured. Gradients of a convolution are one kernel each
// (or one measured "backward"); those of a fully connected layer are products.
#pragma once

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
  kDataSheet,  // nothing of its kind was measured
};
const char* to_text(LayerTimeSource source);

struct FittedCompute {
  ComputeTable table;
  std::vector<LayerTimeSource> forward;  // one a layer
  std::vector<LayerTimeSource> backward;
};

// `gpu` is what with_measured() gave. `provenance` notes the assumed numbers; may be null.
FittedCompute fitted_compute(const FittedGpu& fitted, const GpuModel& gpu, const Network& network,
                             Precision precision, Provenance* provenance);

}  // namespace forescale
