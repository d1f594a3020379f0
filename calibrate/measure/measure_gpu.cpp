#include "calibrate/measure/measure_gpu.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "calibrate/fit/matrix_layers.hpp"
#include "calibrate/measure/mpi_launch.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr std::int64_t kBytesLeast = 256;
constexpr std::int64_t kBytesMost = 4096 * kMiB;
constexpr std::int64_t kBatchMost = 1 << 20;
// Opening CUDA and its libraries, and a last kernel that takes longer than expected.
constexpr double kGpuTimeoutBeyondBudget_s = 120;

// Dense where bandwidth takes over from latency.
std::vector<std::int64_t> sizes_up_to(std::int64_t bytes_max) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = kBytesLeast; bytes < bytes_max; bytes *= bytes < 64 * kKiB ? 4 : 2)
    sizes.push_back(bytes);
  sizes.push_back(bytes_max);
  return sizes;
}

bool has_no_size(Pattern pattern) {
  return pattern == Pattern::kLaunch || pattern == Pattern::kSynchronize;
}

json series_to_ask(const GpuMeasureOptions& options) {
  json series = json::array();
  if (!options.measures_patterns) return series;
  for (const Pattern pattern : measurable_patterns()) {
    const auto& wanted = options.patterns;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), pattern) == wanted.end())
      continue;
    json one = {{"pattern", name_of(pattern)}};
    one["bytes"] =
        has_no_size(pattern) ? std::vector<std::int64_t>{0} : sizes_up_to(options.bytes_max);
    if (pattern == Pattern::kCollective) one["op"] = "all-reduce";
    series.push_back(one);
  }
  return series;
}

std::vector<LayerKernels> kernels_of_network(const std::string& name, std::int64_t batch,
                                             Precision precision) {
  for (const MatrixNetwork& network : matrix_networks())
    if (network.name == name) return matrix_kernels(network, batch, precision);
  return network_kernels(load_network(name, "--networks"), batch, precision);
}

std::string key_of(const GpuKernel& kernel) {
  return fmt::format("{} {} {}", to_text(kernel), name_of(kernel.pass), name_of(kernel.precision));
}

// What the program of calibrate/bench/gpu/ runs.
bool is_measurable(const GpuKernel& kernel) {
  const auto* product = std::get_if<GemmShape>(&kernel.shape);
  return std::holds_alternative<ConvolutionShape>(kernel.shape) ||
         (product != nullptr && product->count == 1);
}

class KernelList {
 public:
  void add(const std::string& network, std::int64_t batch, Precision precision) {
    for (const LayerKernels& layer : kernels_of_network(network, batch, precision)) {
      for (const GpuKernel& kernel : layer.kernels)
        if (is_measurable(kernel) && seen_.insert(key_of(kernel)).second)
          put(kernel, network, layer.layer);
      ++layers_;
    }
  }
  int layers() const { return layers_; }
  const json& entries() const { return entries_; }

 private:
  void put(const GpuKernel& kernel, const std::string& network, const std::string& layer) {
    json entry = to_json(MeasuredKernel{.kernel = kernel, .network = network, .layer = layer});
    entry.erase("time_s");
    entries_.push_back(entry);
  }

  std::set<std::string> seen_;
  json entries_ = json::array();
  int layers_ = 0;
};

json kernels_to_ask(const GpuMeasureOptions& options) {
  KernelList list;
  for (const std::string& network : options.networks)
    for (const Precision precision : options.precisions)
      for (const std::int64_t batch : options.batches) list.add(network, batch, precision);
  return list.entries();
}

void check(const GpuMeasureOptions& options) {
  if (!(options.budget_s >= 0.1) || !std::isfinite(options.budget_s))
    refuse("--budget", fmt::format("{} s", options.budget_s), "must be at least 0.1 s");
  if (options.bytes_max < kBytesLeast || options.bytes_max > kBytesMost)
    refuse("--max-bytes", std::to_string(options.bytes_max), "must be between 256 B and 4 GiB");
  for (const std::int64_t batch : options.batches)
    if (batch < 1 || batch > kBatchMost)
      refuse("--batches", std::to_string(batch), "must be between 1 and 1048576");
  const std::vector<std::string> known = measurable_networks();
  for (const std::string& network : options.networks)
    if (std::find(known.begin(), known.end(), network) == known.end())
      refuse("--networks", network, unknown_name(network, known));
}

// The program's own words, else how it ended.
std::string failure_of(const MpiOutcome& run) {
  if (run.exit_code == 0) return run.failure;  // interrupted
  if (run.failure.starts_with("not finished")) return "forescale-gpu has " + run.failure;
  const std::string text = "\n" + run.err_tail;
  const std::string mark = std::string("\n") + kGpuFailureLine;
  if (const auto begin = text.find(mark); begin != std::string::npos) {
    const auto words = begin + mark.size();
    return text.substr(words, text.find('\n', words) - words);
  }
  if (run.exit_code > 128)
    return fmt::format("forescale-gpu was ended by signal {}", run.exit_code - 128);
  return fmt::format("forescale-gpu ended with exit code {}: {}", run.exit_code,
                     text.substr(text.rfind('\n') + 1));
}

}  // namespace

const std::vector<Pattern>& measurable_patterns() {
  static const std::vector<Pattern> patterns = {Pattern::kLaunch,
                                                Pattern::kSynchronize,
                                                Pattern::kHostToDevice,
                                                Pattern::kDeviceToHost,
                                                Pattern::kReduction,
                                                Pattern::kMemoryCopy,
                                                Pattern::kCopyBothWays,
                                                Pattern::kHostToDevicePageable,
                                                Pattern::kDeviceToHostPageable,
                                                Pattern::kFill,
                                                Pattern::kReductionBesideKernel,
                                                Pattern::kPeerCopy,
                                                Pattern::kCollective};
  return patterns;
}

std::vector<std::string> measurable_networks() {
  std::vector<std::tuple<std::size_t, int, std::string>> counted;
  std::vector<std::string> names = catalogue("models/workload/zoo");
  for (const MatrixNetwork& network : matrix_networks()) names.push_back(network.name);
  for (const std::string& name : names) {
    KernelList list;
    list.add(name, 1, Precision::kFp32);
    counted.emplace_back(list.entries().size(), list.layers(), name);
  }
  std::sort(counted.begin(), counted.end());
  names.clear();
  for (const auto& [kernels, layers, name] : counted) names.push_back(name);
  return names;
}

std::string gpu_request(const GpuMeasureOptions& options) {
  check(options);
  return json{
      {"format", "forescale-gpu-request-1"}, {"device", options.device},
      {"budget_s", options.budget_s},        {"relative_interval", options.relative_interval},
      {"samples_max", options.samples_max},  {"layout", options.layout},
      {"machine", options.machine},          {"provenance", options.provenance},
      {"series", series_to_ask(options)},    {"kernels", kernels_to_ask(options)}}
      .dump(1);
}

std::string gpu_program(const std::string& beside) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::canonical(beside, error);
  std::string program = self.parent_path() / "forescale-gpu";
  if (!error && access(program.c_str(), X_OK) == 0) return program;
  refuse("--gpu", "",
         "forescale-gpu is not built: install a CUDA toolkit (package nvidia-cuda-toolkit, or "
         "NVIDIA's), and cuDNN for convolutions, then build again");
}

MeasureOutcome measure_gpu(const std::vector<std::string>& program,
                           const GpuMeasureOptions& options,
                           const std::function<void(const std::string&)>& on_progress) {
  constexpr int kUnusable = 2;
  constexpr int kNotExecutable = 126;  // and 127: a library of it is missing
  const MpiOutcome run = run_mpi(program, gpu_request(options), on_progress,
                                 options.budget_s + kGpuTimeoutBeyondBudget_s);
  MeasureOutcome outcome;
  if (!run.failure.empty()) outcome.failure = failure_of(run);
  if (run.exit_code == kUnusable || run.exit_code == kNotExecutable ||
      run.exit_code == kNotExecutable + 1)
    refuse("--gpu", "", outcome.failure);
  if (run.answer.empty()) return outcome;
  try {
    outcome.measurement = read_measurement_text(run.answer, "forescale-gpu's answer");
  } catch (const InputError& error) {
    // An answer of the first moments holds no time yet.
    if (outcome.failure.empty()) outcome.failure = error.what();
  }
  std::vector<std::string>& notes = outcome.measurement.notes;
  if (!outcome.failure.empty() &&
      std::none_of(notes.begin(), notes.end(), [&](const std::string& note) {
        return note.find(outcome.failure) != std::string::npos;
      }))
    notes.push_back(outcome.failure);
  return outcome;
}

}  // namespace forescale
