// Traces of PyTorch's profiler (Chrome JSON, plain or gzip) of one GPU as kernels of a measurement.
//
// An operator's time is that of the GPU kernels launched inside it ("External id"), the median over
// its calls with the same inputs; its shape is "Input Dims" (record_shapes=True).
//   aten::mm, aten::addmm -> GEMM (row-major C = A B is column-major C^T = B^T A^T: m is B's
//   columns, n is A's rows; transposes by "Input Strides"); a convolution whose "Concrete Inputs"
//   state stride and padding -> convolution; all else -> layer of that name and its inputs' bytes.
// The pass is a backward one where the operator's name says so, else "forward".
// Limits: operators without kernels or shapes are counted in a note; fused kernels (compiled
// models) have no operator of their own.
#pragma once

#include <string>

#include "calibrate/measure/measurement.hpp"

namespace forescale {

// Whether the file begins like JSON and speaks of "traceEvents" or of GPU kernels.
bool is_profiler_trace(const std::string& file);
// InputError for a file that is no trace, or holds no operator with GPU kernels and shapes.
Measurement import_profiler_trace(const std::string& file);

}  // namespace forescale
