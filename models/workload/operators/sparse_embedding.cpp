// The tables of a recommendation model: `vocabulary` rows of num_output values in all, one looked
// up for each category (PyTorch's Embedding with sparse=True). A table is no parameter that
// gradients of all samples are reduced for: see embedding_tables.hpp.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect sparse_embedding(const LayerSpec& layer, const std::string& file,
                             const Inputs& inputs) {
  require_given(layer, file, "num_output", layer.num_output);
  if (inputs[0].size() != 1)
    layer_error(layer, file,
                {.key = "bottom", .value = to_text(inputs[0]), .constraint = "must be categories"});
  LayerEffect effect{.outputs = {{inputs[0][0], layer.num_output}}};
  effect.tables = {
      .values = value_count({size_of(layer, file, "vocabulary"), layer.num_output}, layer, file),
      .looked_up = value_count(effect.outputs[0], layer, file)};
  return effect;
}

const bool kSparseEmbeddingRegistered = Registry<Operator>::add({.name = "SparseEmbedding",
                                                                 .backward_traffic = 1,
                                                                 .options = {"num_output"},
                                                                 .sizes = {"vocabulary"},
                                                                 .apply = sparse_embedding});

}  // namespace
}  // namespace forescale
