#include "studies/replay/kernel_scaling.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/median.hpp"
#include "models/compute/compute_choice.hpp"

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

KernelScaling::Gpu::Gpu(const std::string& name, const std::string& option)
    : model(load_gpu(name, option, nullptr)), peaks(load_matrix_peaks(name, option, nullptr)) {
  if (model.fitted.empty()) return;
  fitted = model_on(model, model.fitted, option, nullptr);
  kernels = std::make_unique<NearestKernels>(*fitted, model, nullptr);
}

std::optional<NearestKernel> KernelScaling::Gpu::time(const KernelWork& work, bool is_tf32) const {
  if (kernels == nullptr) return std::nullopt;
  NearestKernel sum;
  for (GpuKernel kernel : work) {
    if (is_tf32 && kernel.precision == Precision::kFp32 && peaks.tf32.value > 0)
      kernel.precision = Precision::kTf32;
    const std::optional<NearestKernel> nearest = kernels->find(kernel);
    if (!nearest) return std::nullopt;
    sum.time_s += nearest->time_s;
    sum.is_scaled = sum.is_scaled || nearest->is_scaled;
    sum.p90_error = std::max(sum.p90_error, nearest->p90_error);
  }
  return sum;
}

KernelScaling::KernelScaling(const std::string& traced, const std::string& wanted,
                             Scenario scenario)
    : traced_(traced, "--traced-gpu"), wanted_(wanted, "--gpu"), scenario_(scenario) {}

const std::optional<KernelScaling::Models>& KernelScaling::models_of(const KernelWork& work,
                                                                     bool is_tf32) {
  Known& known = known_[{&work, is_tf32}];
  if (known.work == work) return known.models;
  known = {.work = work, .models = std::nullopt};
  const std::optional<NearestKernel> traced = traced_.time(work, is_tf32);
  const std::optional<NearestKernel> wanted = wanted_.time(work, is_tf32);
  if (traced && wanted) known.models = Models{*traced, *wanted};
  return known.models;
}

void KernelScaling::take_traced(const KernelWork& work, double duration_s) {
  traced_s_[&work].push_back(duration_s);
}

double KernelScaling::typical_s(const KernelWork& work, double duration_s) {
  const auto taken = traced_s_.find(&work);
  if (taken == traced_s_.end()) return duration_s;
  const auto [typical, is_new] = typical_s_.try_emplace(&work, 0);
  if (is_new) typical->second = median(taken->second);
  return typical->second > 0 ? typical->second : duration_s;
}

double KernelScaling::by_models_s(const Models& models, const KernelWork& work, RooflineSide side,
                                  double duration_s) {
  const auto& [traced, wanted] = models;
  const double ratio = wanted.time_s / traced.time_s;
  const bool is_measured = !traced.is_scaled && !wanted.is_scaled;
  const double fast_s = by_roofline_s(side, duration_s, Scenario::kFast);
  const double slow_s = by_roofline_s(side, duration_s, Scenario::kSlow);
  const bool is_one_product =
      work.size() == 1 && std::holds_alternative<GemmShape>(work.front().shape);
  double likely_s = ratio * duration_s;
  if (is_one_product && !is_measured && !wanted.is_scaled)
    likely_s = wanted.time_s * duration_s / typical_s(work, duration_s);
  else if (!is_measured)
    likely_s = std::clamp(likely_s, fast_s, slow_s);
  if (scenario_.end() == Scenario::kNominal) return likely_s;
  const bool is_fast = scenario_.end() == Scenario::kFast;
  const double both = 1 + std::hypot(traced.p90_error, wanted.p90_error);
  const double end_s = is_fast ? likely_s / both : likely_s * both;
  if (is_measured) return end_s;
  return is_fast ? std::min(end_s, fast_s) : std::max(end_s, slow_s);
}

// New time over old time.
double KernelScaling::ratio_of(RooflineSide kind, Scenario::End end) const {
  const double by_memory =
      traced_.model.memory_bandwidth.value / wanted_.model.memory_bandwidth.value;
  if (kind == RooflineSide::kMemory && end == Scenario::kNominal) return by_memory;
  const RooflineSide arithmetic = kind == RooflineSide::kMemory ? RooflineSide::kMatrix : kind;
  for (const Gpu* gpu : {&traced_, &wanted_})
    if (!(peak_of(gpu->peaks, arithmetic) > 0))
      throw InputError({.source = "--gpu",
                        .path = "",
                        .value = wanted_.model.name,
                        .constraint = "cannot be modelled: the trace has half-precision kernels, "
                                      "and the model of " +
                                      gpu->model.name + " has no \"half_flops_per_s\""});
  const double by_arithmetic =
      peak_of(traced_.peaks, arithmetic) / peak_of(wanted_.peaks, arithmetic);
  if (end == Scenario::kFast) return std::min(by_memory, by_arithmetic);
  if (end == Scenario::kSlow) return std::max(by_memory, by_arithmetic);
  return by_arithmetic;
}

double KernelScaling::by_roofline_s(RooflineSide side, double duration_s, Scenario::End end) const {
  const double floor_s = std::min(duration_s, kFloor_s);
  return floor_s + (duration_s - floor_s) * ratio_of(side, end);
}

double KernelScaling::scaled_s(const std::string& kernel, double duration_s,
                               const KernelWork* work) {
  const RooflineSide side = side_of_kernel(kernel);
  if (side != RooflineSide::kMemory && work != nullptr)
    if (const auto& models = models_of(*work, side == RooflineSide::kMatrixTf32)) {
      const bool is_measured = !models->traced.is_scaled && !models->wanted.is_scaled;
      (is_measured ? scaled_.by_models_s : scaled_.by_stand_ins_s) += duration_s;
      return by_models_s(*models, *work, side, duration_s);
    }
  (side == RooflineSide::kMemory ? scaled_.by_memory_s : scaled_.by_roofline_s) += duration_s;
  return by_roofline_s(side, duration_s, scenario_.end());
}

bool is_gpu_model(const std::string& driver_name, const std::string& model) {
  const std::set<std::string> given = words_of(driver_name);
  const std::set<std::string> words = words_of(model);
  return std::includes(given.begin(), given.end(), words.begin(), words.end());
}

std::string gpu_model_of(const std::string& driver_name) {
  std::string best;
  std::size_t most = 0;
  for (const std::string& known : catalogue("models/hardware/gpus")) {
    const std::size_t words = words_of(known).size();
    if (words <= most || !is_gpu_model(driver_name, known)) continue;
    best = known;
    most = words;
  }
  return best;
}

}  // namespace forescale
