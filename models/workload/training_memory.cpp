#include "models/workload/training_memory.hpp"

#include <algorithm>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

constexpr double kBytesMax = 4e18;

bool is_input(const Layer& layer) { return find_operator(layer.type)->kind == OperatorKind::kData; }

// Weights, gradients, momentum; in half precision master weights too.
Bytes parameter_bytes(const Network& network, std::int64_t value_bytes) {
  const bool has_masters = value_bytes < kBytesPerValue;
  return {network.parameters() * (2 * value_bytes + (has_masters ? 2 : 1) * kBytesPerValue)};
}

// Every blob has its gradient.
Bytes caffe_per_image(const Network& network) {
  Bytes sum;
  for (const Layer& layer : network.layers)
    sum = sum + (is_input(layer) ? 1 : 2) * layer.activation_per_image + layer.kept_per_image +
          kBytesPerValue * Bytes{layer.kept_flags};
  return sum;
}

Bytes flags_per_image(const Network& network) {
  Bytes sum;
  for (const Layer& layer : network.layers) sum = sum + Bytes{layer.kept_flags};
  return sum;
}

// Only the gradients into and out of one layer are there at a time.
Bytes planned_per_image(const Network& network) {
  Bytes sum;
  Bytes largest;
  for (const Layer& layer : network.layers) {
    sum = sum + layer.activation_per_image + layer.kept_per_image;
    if (!is_input(layer)) largest.value = std::max(largest.value, layer.activation_per_image.value);
  }
  return sum + 2 * largest;
}

}  // namespace

Bytes training_memory(const Network& network, std::int64_t batch, Provenance* provenance,
                      const std::optional<Framework>& framework, Precision precision, int gpus) {
  constexpr std::int64_t kBatchMax = 1'000'000'000;
  if (batch < 1 || batch > kBatchMax)
    throw InputError({.source = "batch",
                      .path = "",
                      .value = std::to_string(batch),
                      .constraint = "must be from 1 to 1000000000"});
  const std::string file =
      find_data_file("models/compute", "assumptions", "models/compute/assumptions");
  const JsonInput in = JsonInput::from_file(file, provenance).at("memory");
  in.allow_only({"workspace_bytes_per_convolution", "shared_workspace_bytes", "library_bytes"});
  const bool caffe = framework.value_or(default_framework(network)) == Framework::kCaffe;
  const auto convolutions =
      std::count_if(network.layers.begin(), network.layers.end(),
                    [](const Layer& layer) { return layer.type == "Convolution"; });
  const Bytes workspace = caffe ? convolutions * in.at("workspace_bytes_per_convolution").bytes()
                                : in.at("shared_workspace_bytes").bytes();
  const Bytes libraries = in.at("library_bytes").bytes();
  const std::int64_t value_bytes = whole_bytes_a_value(precision);
  const Bytes in_fp32 = caffe ? caffe_per_image(network) : planned_per_image(network);
  const Bytes per_image = Bytes{in_fp32.value * value_bytes / kBytesPerValue} +
                          (caffe ? Bytes{} : flags_per_image(network));
  if (static_cast<double>(batch) * static_cast<double>(per_image.value) > kBytesMax)
    throw InputError({.source = "batch",
                      .path = "",
                      .value = std::to_string(batch),
                      .constraint = "gives more bytes than can be counted"});
  const Bytes tables = Bytes{network.tables().values * kBytesPerValue / gpus};
  return parameter_bytes(network, value_bytes) + tables + batch * per_image + workspace + libraries;
}

}  // namespace forescale
