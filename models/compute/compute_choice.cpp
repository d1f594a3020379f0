#include "models/compute/compute_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "models/compute/measurements.hpp"
#include "models/matrix_peaks.hpp"

namespace forescale {
namespace {

bool has_published_times(const GpuModel& gpu) {
  const std::vector<std::string> networks = catalogue("models/workload/zoo");
  return std::any_of(networks.begin(), networks.end(), [&](const std::string& network) {
    return !used_measurements(gpu.name, network, std::nullopt, nullptr).empty();
  });
}

bool is_shipped(const std::string& model) {
  const std::vector<std::string> shipped = catalogue(kGpuModelFolder);
  return std::find(shipped.begin(), shipped.end(), model) != shipped.end();
}

// Of the same GPU, measured on another machine.
bool is_of(const GpuModel& gpu, const std::string& model) {
  if (gpu.fitted.empty()) return false;
  const auto made_by = [](const std::string& name) {
    return load_fitted_gpu(name, "--gpu-model", nullptr).facts["name"];
  };
  return made_by(model) == made_by(gpu.fitted);
}

bool has_kernels(const FittedGpu& fitted, Precision precision) {
  const auto is_in = [&](const auto& each) {
    const Precision of = [&] {
      if constexpr (requires { each.kind; })
        return each.kind.precision;
      else
        return each.precision;
    }();
    return of == precision;
  };
  return std::any_of(fitted.kernels.begin(), fitted.kernels.end(), is_in) ||
         std::any_of(fitted.layers.begin(), fitted.layers.end(), is_in);
}

}  // namespace

std::string gpu_model_for(const GpuModel& gpu, const ComputeChoice& choice) {
  if (!choice.gpu_model.empty()) {
    if (choice.gpu_model != gpu.fitted && is_shipped(choice.gpu_model) &&
        !is_of(gpu, choice.gpu_model))
      throw InputError(
          {.source = choice.option,
           .path = "",
           .value = choice.gpu_model,
           .constraint =
               gpu.fitted.empty()
                   ? fmt::format("is the model of another GPU than {}, which has none", gpu.name)
                   : fmt::format("is the model of another GPU than {}, whose own is {}", gpu.name,
                                 gpu.fitted)});
    return choice.gpu_model;
  }
  const bool is_fp32 = choice.precision.value_or(Precision::kFp32) == Precision::kFp32;
  return is_fp32 && has_published_times(gpu) ? "" : gpu.fitted;
}

Precision precision_on(const GpuModel& gpu, const ComputeChoice& choice) {
  if (choice.precision && is_quantised(*choice.precision))
    throw InputError(
        {.source = "--precision",
         .path = "",
         .value = name_of(*choice.precision),
         .constraint = "is of the products in a transformer's layers alone (--layout)"});
  const std::string model = gpu_model_for(gpu, choice);
  if (choice.precision == Precision::kFp32 || (!choice.precision && model.empty()))
    return Precision::kFp32;
  const auto refuse = [&](const std::string& constraint) -> InputError {
    return InputError({.source = "--precision",
                       .path = "",
                       .value = name_of(*choice.precision),
                       .constraint = constraint});
  };
  if (model.empty())
    throw refuse(fmt::format("needs --gpu-model: no kernels were measured on {}", gpu.name));
  const FittedGpu fitted = load_fitted_gpu(model, choice.option, nullptr);
  const MatrixPeaks peaks = load_matrix_peaks(gpu.file, "--gpu", nullptr);
  if (!choice.precision)
    return peaks.tf32.value > 0 && !has_kernels(fitted, Precision::kFp32) ? Precision::kTf32
                                                                          : Precision::kFp32;
  if (peaks.of(*choice.precision).value == 0 && !has_kernels(fitted, *choice.precision))
    throw refuse(fmt::format("is no precision of {}", gpu.name));
  return *choice.precision;
}

MemoryFormat memory_format_of(const ComputeChoice& choice, Precision precision) {
  if (choice.memory_format) return *choice.memory_format;
  return whole_bytes_a_value(precision) == 2 ? MemoryFormat::kNhwc : MemoryFormat::kNchw;
}

FittedGpu model_on(const GpuModel& gpu, const std::string& name, const std::string& option,
                   Provenance* provenance) {
  FittedGpu fitted = load_fitted_gpu(name, option, provenance);
  if (name != gpu.fitted || name == gpu.name) return fitted;
  const GpuModel measured = load_gpu(name, option, nullptr);
  fitted.scale_kernels(measured, gpu.peak_flops, gpu.memory_bandwidth);
  fitted.notes.push_back(
      fmt::format("measured on {}: FLOP/s are multiplied by {:.3g}, the memory's rate by {:.3g}",
                  name, gpu.peak_flops / measured.peak_flops, fitted.memory_times));
  return fitted;
}

}  // namespace forescale
