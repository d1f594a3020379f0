#include "models/matrix_peaks.hpp"

#include "base/data_files.hpp"

namespace forescale {

FlopsPerSecond MatrixPeaks::of(Precision precision) const {
  switch (precision) {
    case Precision::kFp32:
      return fp32;
    case Precision::kTf32:
      return tf32;
    case Precision::kFp16:
      return half;
    case Precision::kBf16:
      return tf32.value > 0 ? half : FlopsPerSecond{};
    case Precision::kFp8:
      return fp8;
    case Precision::kMxfp8:  // block scales came with FP4's units (NVIDIA Blackwell, 2024)
      return fp4.value > 0 ? fp8 : FlopsPerSecond{};
    case Precision::kNvfp4:
      return fp4;
  }
  return {};
}

MatrixPeaks load_matrix_peaks(const std::string& gpu, const std::string& option,
                              Provenance* provenance) {
  const JsonInput in =
      JsonInput::from_file(find_data_file("models/hardware/gpus", gpu, option), provenance);
  const auto rate = [&](const char* key) {
    const auto found = in.find(key);
    return found ? found->flops_rate() : FlopsPerSecond{};
  };
  return {.fp32 = in.at("peak_flops_per_s").flops_rate(),
          .tf32 = rate("tf32_flops_per_s"),
          .half = rate("half_flops_per_s"),
          .fp8 = rate("fp8_flops_per_s"),
          .fp4 = rate("fp4_flops_per_s")};
}

MatrixPeaks peaks_of(const GpuModel& gpu) {
  if (gpu.file.empty())
    return {.fp32 = gpu.peak_flops, .tf32 = {}, .half = {}, .fp8 = {}, .fp4 = {}};
  return load_matrix_peaks(gpu.file, "--gpu", nullptr);
}

}  // namespace forescale
