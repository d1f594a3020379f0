// A table of `vocabulary` vectors of num_output values, one looked up a token. With "position" the
// token is its place in the sequence. Of "ranks" that share a sequence's tokens each looks up its
// own. A "tied" one has another layer's table.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect embedding(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_given(layer, file, "num_output", layer.num_output);
  LayerEffect effect;
  effect.outputs = {inputs[0]};
  if (layer.sizes.contains("ranks")) effect.outputs[0][0] /= size_of(layer, file, "ranks");
  effect.outputs[0].push_back(layer.num_output);
  if (!layer.flags.contains("tied"))
    effect.parameter_tensors = {
        value_count({size_of(layer, file, "vocabulary"), layer.num_output}, layer, file)};
  effect.reads_all_parameters = false;
  return effect;
}

const bool kEmbeddingRegistered = Registry<Operator>::add({.name = "Embedding",
                                                           .options = {"num_output"},
                                                           .sizes = {"vocabulary", "ranks"},
                                                           .flags = {"tied"},
                                                           .apply = embedding});

}  // namespace
}  // namespace forescale
