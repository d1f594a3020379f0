#include "models/dnn/training_memory.hpp"

#include "models/data_files.hpp"
#include "models/dnn/layer_rules.hpp"
#include "models/error.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kParameterCopies = 3;  // weights, gradients, momentum
constexpr double kBytesMax = 4e18;

}  // namespace

Bytes training_memory(const Network& network, std::int64_t batch, Provenance* provenance) {
  constexpr std::int64_t kBatchMax = 1'000'000'000;
  if (batch < 1 || batch > kBatchMax)
    throw InputError({.source = "batch",
                      .path = "",
                      .value = std::to_string(batch),
                      .constraint = "must be from 1 to 1000000000"});
  const std::string file = find_data_file("models/dnn", "assumptions", "models/dnn/assumptions");
  const JsonInput in = JsonInput::from_file(file, provenance).at("memory");
  in.allow_only({"workspace_bytes_per_convolution", "library_bytes"});
  const Bytes workspace = in.at("workspace_bytes_per_convolution").bytes();
  const Bytes libraries = in.at("library_bytes").bytes();

  Bytes per_image;
  std::int64_t convolutions = 0;
  for (const Layer& layer : network.layers) {
    const bool is_input = layer_rule(layer.type)->kind == LayerKind::kData;
    per_image = per_image + (is_input ? 1 : 2) * layer.activation_per_image + layer.kept_per_image;
    if (layer.type == "Convolution") ++convolutions;
  }
  if (static_cast<double>(batch) * static_cast<double>(per_image.value) > kBytesMax)
    throw InputError({.source = "batch",
                      .path = "",
                      .value = std::to_string(batch),
                      .constraint = "gives more bytes than can be counted"});
  return kParameterCopies * network.parameter_bytes() + batch * per_image +
         convolutions * workspace + libraries;
}

}  // namespace forescale
