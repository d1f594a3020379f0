#include "models/workload/matrix_work.hpp"

namespace forescale {
namespace {

std::vector<MatrixPass> passes_of(const LinearShape& shape, std::int64_t batch) {
  const std::int64_t vectors = batch * shape.vectors;
  std::vector<MatrixPass> passes =
      fully_connected(shape.outputs, shape.inputs, (vectors + shape.groups - 1) / shape.groups);
  for (MatrixPass& pass : passes) {
    pass.shape.count = shape.groups;
    pass.shape.is_grouped = shape.groups > 1;
  }
  return passes;
}

std::vector<MatrixPass> passes_of(GemmShape shape, std::int64_t batch) {
  shape.count *= batch;
  const auto of = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return GemmShape{.m = m, .n = n, .k = k, .count = shape.count};
  };
  return {{KernelPass::kForward, shape},
          {KernelPass::kBackwardData, of(shape.m, shape.k, shape.n)},
          {KernelPass::kBackwardData, of(shape.k, shape.n, shape.m)}};
}

// A step's vectors are the batch's; weights learn from all steps at once.
std::vector<MatrixPass> passes_of(const RecurrentShape& shape, std::int64_t batch) {
  std::vector<MatrixPass> passes;
  for (const MatrixPass& step : fully_connected(shape.outputs, shape.inputs, batch)) {
    const bool is_joined = step.pass == KernelPass::kBackwardWeights;
    if (!is_joined) passes.insert(passes.end(), static_cast<std::size_t>(shape.steps), step);
  }
  passes.push_back(fully_connected(shape.outputs, shape.inputs, batch * shape.steps).back());
  return passes;
}

}  // namespace

std::vector<MatrixPass> fully_connected(std::int64_t outputs, std::int64_t inputs,
                                        std::int64_t rows) {
  return {{KernelPass::kForward, {outputs, rows, inputs, true, false}},
          {KernelPass::kBackwardData, {inputs, rows, outputs, false, false}},
          {KernelPass::kBackwardWeights, {inputs, outputs, rows, false, true}}};
}

double forward_flops_of(const MatrixWork& work) {
  double flops = 0;
  for (const GpuKernel& kernel : kernels_of(work, 1, Precision::kFp32))
    if (kernel.pass == KernelPass::kForward) flops += flops_of(kernel);
  return flops;
}

std::vector<GpuKernel> kernels_of(const MatrixWork& work, std::int64_t batch, Precision precision) {
  std::vector<GpuKernel> kernels;
  const auto add = [&](const auto& shape, KernelPass pass) {
    kernels.push_back({.shape = shape, .pass = pass, .precision = precision});
  };
  if (const auto* linear = std::get_if<LinearShape>(&work)) {
    for (const auto& [pass, shape] : passes_of(*linear, batch)) add(shape, pass);
  } else if (const auto* product = std::get_if<GemmShape>(&work)) {
    for (const auto& [pass, shape] : passes_of(*product, batch)) add(shape, pass);
  } else if (const auto* recurrent = std::get_if<RecurrentShape>(&work)) {
    for (const auto& [pass, shape] : passes_of(*recurrent, batch)) add(shape, pass);
  } else if (const auto* filters = std::get_if<ConvolutionShape>(&work)) {
    ConvolutionShape shape = *filters;
    shape.batch *= batch;
    for (const KernelPass pass :
         {KernelPass::kForward, KernelPass::kBackwardData, KernelPass::kBackwardWeights})
      add(shape, pass);
  } else if (const auto* attention = std::get_if<AttentionShape>(&work)) {
    AttentionShape shape = *attention;
    shape.batch *= batch;
    for (const KernelPass pass : {KernelPass::kForward, KernelPass::kBackward}) add(shape, pass);
  }
  return kernels;
}

}  // namespace forescale
