// Some of a sequence's vectors: "count" of them, or "keeps" of every "of", as a masked language
// model is asked for 5 of 32 words.
#include <algorithm>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

std::int64_t gathered(const LayerSpec& layer, const std::string& file, std::int64_t tokens) {
  if (layer.sizes.contains("count")) return size_of(layer, file, "count");
  return std::max<std::int64_t>(
      1, tokens * size_of(layer, file, "keeps") / size_of(layer, file, "of"));
}

LayerEffect gather(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_sequence(layer, file, inputs[0]);
  const std::int64_t count = gathered(layer, file, inputs[0][0]);
  if (count > inputs[0][0])
    layer_error(layer, file,
                {.key = layer.sizes.contains("count") ? "count" : "keeps",
                 .value = std::to_string(count),
                 .constraint = "must be <= the tokens " + std::to_string(inputs[0][0])});
  return {.outputs = {{count, inputs[0][1]}}};
}

const bool kGatherRegistered =
    Registry<Operator>::add({.name = "Gather", .sizes = {"count", "keeps", "of"}, .apply = gather});

}  // namespace
}  // namespace forescale
