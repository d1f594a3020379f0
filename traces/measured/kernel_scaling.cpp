#include "traces/measured/kernel_scaling.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/data_files.hpp"
#include "base/error.hpp"

namespace forescale {
namespace {

// What an empty kernel takes; assumed, between 1 and 3 us on GPUs since Kepler.
constexpr double kFloor_s = 2e-6;

bool has_any(std::string_view text, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != std::string_view::npos; });
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

// Letters and digits in a row.
std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : lower(text) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::move(word));
      word.clear();
    }
  }
  return words;
}

// Libraries multiply in FP32 where a GPU has no TF32.
double peak_of(const MatrixPeaks& peaks, RooflineSide kind) {
  if (kind == RooflineSide::kMatrixHalf) return peaks.half.value;
  return kind == RooflineSide::kMatrixTf32 && peaks.tf32.value > 0 ? peaks.tf32.value
                                                                   : peaks.fp32.value;
}

}  // namespace

RooflineSide side_of_kernel(std::string_view name) {
  const std::string text = lower(name);
  const bool multiplies =
      has_any(text, {"gemm", "gemv", "conv", "cutlass", "xmma", "winograd", "fmha", "flash",
                     "attention", "wgrad", "dgrad", "cudnn::cnn", "nvjet"}) &&
      !has_any(text, {"convert", "elementwise"});
  if (!multiplies) return RooflineSide::kMemory;
  if (has_any(text, {"h884", "h1688", "s884", "16816", "f16", "bf16", "half", "hgemm", "hshs",
                     "hsh_", "bfloat", "tst_"}))
    return RooflineSide::kMatrixHalf;
  if (has_any(text, {"tf32", "s1688"})) return RooflineSide::kMatrixTf32;
  return RooflineSide::kMatrix;
}

KernelScaling::Gpu KernelScaling::load(const std::string& name, const std::string& option) {
  const GpuModel gpu = load_gpu(name, option, nullptr);
  return {.name = gpu.name,
          .memory_bytes_per_s = gpu.memory_bandwidth.value,
          .peaks = load_matrix_peaks(name, option, nullptr)};
}

KernelScaling::KernelScaling(const std::string& traced, const std::string& wanted,
                             Scenario scenario)
    : traced_(load(traced, "--traced-gpu")), wanted_(load(wanted, "--gpu")), scenario_(scenario) {}

// New time over old time.
double KernelScaling::ratio_of(RooflineSide kind) const {
  const double by_memory = traced_.memory_bytes_per_s / wanted_.memory_bytes_per_s;
  if (kind == RooflineSide::kMemory && scenario_.end() == Scenario::kNominal) return by_memory;
  const RooflineSide arithmetic = kind == RooflineSide::kMemory ? RooflineSide::kMatrix : kind;
  for (const Gpu* gpu : {&traced_, &wanted_})
    if (!(peak_of(gpu->peaks, arithmetic) > 0))
      throw InputError({.source = "--gpu",
                        .path = "",
                        .value = wanted_.name,
                        .constraint = "cannot be modelled: the trace has half-precision kernels, "
                                      "and the model of " +
                                      gpu->name + " has no \"half_flops_per_s\""});
  const double by_arithmetic =
      peak_of(traced_.peaks, arithmetic) / peak_of(wanted_.peaks, arithmetic);
  if (scenario_.end() == Scenario::kFast) return std::min(by_memory, by_arithmetic);
  if (scenario_.end() == Scenario::kSlow) return std::max(by_memory, by_arithmetic);
  return by_arithmetic;
}

double KernelScaling::scaled_s(const std::string& kernel, double duration_s) const {
  const double floor_s = std::min(duration_s, kFloor_s);
  return floor_s + (duration_s - floor_s) * ratio_of(side_of_kernel(kernel));
}

std::string gpu_model_of(const std::string& driver_name) {
  const std::set<std::string> given = words_of(driver_name);
  std::string best;
  std::size_t most = 0;
  for (const std::string& known : catalogue("models/hardware/gpus")) {
    const std::set<std::string> words = words_of(known);
    if (words.size() <= most ||
        !std::includes(given.begin(), given.end(), words.begin(), words.end()))
      continue;
    best = known;
    most = words.size();
  }
  return best;
}

}  // namespace forescale
