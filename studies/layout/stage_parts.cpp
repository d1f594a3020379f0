#include "studies/layout/stage_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "models/compute/fitted_compute.hpp"
#include "models/workload/transformer/decoder.hpp"

namespace forescale {
namespace {

constexpr double kWeightShare = 0.5;  // of a product's two gradients

bool is_product(const Layer& layer) { return std::holds_alternative<LinearShape>(layer.work); }

Network network_of(const StageInputs& inputs, std::int64_t first, std::int64_t layers,
                   bool has_embedding, bool has_head) {
  const Layout& layout = *inputs.layout;
  return infer_network(decoder(*inputs.model, inputs.tokens, inputs.option,
                               {.tensor = layout.tensor,
                                .has_sequence_parallel = layout.has_sequence_parallel,
                                .context = layout.context,
                                .expert = layout.expert,
                                .expert_tensor = inputs.model->experts ? layout.expert_tensor : 1,
                                .first_layer = first,
                                .layers = layers,
                                .has_embedding = has_embedding,
                                .has_head = has_head}));
}

void add_times(const StageInputs& inputs, const Network& network, StagePart& part) {
  const ComputeTable table = fitted_compute(*inputs.fitted, *inputs.gpu, network,
                                            {.precision = inputs.precision,
                                             .products = inputs.products,
                                             .memory_format = MemoryFormat::kNhwc,
                                             .batch = inputs.layout->micro_batch},
                                            nullptr)
                                 .table;
  const auto batch = static_cast<double>(inputs.layout->micro_batch);
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const LayerTime& time = table.layers[i];
    const bool is_attention = std::holds_alternative<AttentionShape>(network.layers[i].work);
    const double factor =
        inputs.framework->kernels * (is_attention ? inputs.framework->attention : 1);
    const double backward_s = factor * (time.backward_t0_s + batch * time.backward_t1_s);
    part.forward_s += factor * (time.forward_t0_s + batch * time.forward_t1_s);
    part.backward_s += backward_s;
    if (is_product(network.layers[i])) part.weight_gradients_s += kWeightShare * backward_s;
  }
}

void add_exchanges(const StageInputs& inputs, const Network& network, StagePart& part) {
  const std::int64_t bytes_a_sequence_value =
      inputs.layout->micro_batch * bytes_a_value(inputs.precision);
  for (const Layer& layer : network.layers) {
    if (!layer.exchange) continue;
    const std::int64_t bytes = layer.exchange->values * bytes_a_sequence_value;
    for (const ExchangeKind kind : layer.exchange->forward)
      ++part.forward[{layer.exchange->group, kind, bytes}];
    for (const ExchangeKind kind : layer.exchange->backward)
      ++part.backward[{layer.exchange->group, kind, bytes}];
  }
}

// nanotron's: weights in products, a stage ends with the block with which the sum passes its share.
// Source: nanotron, models/base.py (build_model) and models/llama.py (get_block_compute_costs).
std::vector<std::int64_t> split_by_cost(const Transformer& model, std::int64_t stages) {
  constexpr std::int64_t kAttentionProducts = 4;
  constexpr std::int64_t kFeedForwardProducts = 3;
  const std::int64_t layer = kAttentionProducts * model.heads * model.head_size * model.hidden +
                             kFeedForwardProducts * model.ffn * model.hidden;
  const std::int64_t all = model.layers * layer + model.vocabulary * model.hidden;
  std::vector<std::int64_t> layers(static_cast<size_t>(stages), 0);
  std::int64_t stage = 0;
  for (std::int64_t i = 1; i <= model.layers; ++i) {
    ++layers[static_cast<size_t>(stage)];
    if (i * layer * stages > all * (stage + 1)) ++stage;
  }
  return layers;
}

// The embedding and the output count as a layer each.
std::vector<std::int64_t> split_with_ends(const Transformer& model, const Layout& layout,
                                          const std::string& option) {
  const std::int64_t stages = layout.pipeline * layout.virtual_stages;
  if ((model.layers + 2) % stages != 0 || model.layers + 2 < 2 * stages)
    refuse(option, fmt::format("split=ends,pp={},vpp={}", layout.pipeline, layout.virtual_stages),
           fmt::format("{} stages must divide {} layers and 2 ends ({})", stages, model.layers,
                       model.file));
  std::vector<std::int64_t> layers(static_cast<size_t>(stages), (model.layers + 2) / stages);
  --layers.front();
  --layers.back();
  return layers;
}

}  // namespace

std::vector<std::int64_t> layers_of_stages(const Transformer& model, const Layout& layout,
                                           const std::string& option) {
  const std::int64_t stages = layout.pipeline * layout.virtual_stages;
  const std::int64_t ends = (layout.first_layers > 0 ? 1 : 0) + (layout.last_layers > 0 ? 1 : 0);
  const std::int64_t between = model.layers - layout.first_layers - layout.last_layers;
  if (stages > model.layers)
    refuse(option, fmt::format("pp={},vpp={}", layout.pipeline, layout.virtual_stages),
           fmt::format("their product {} must be at most the {} layers ({})", stages, model.layers,
                       model.file));
  if (layout.split != LayerSplit::kEven && ends > 0)
    refuse(option, fmt::format("split={}", name_of(layout.split)),
           "must be even where first or last say how many layers a stage has");
  if (layout.split == LayerSplit::kCost) return split_by_cost(model, stages);
  if (layout.split == LayerSplit::kEnds) return split_with_ends(model, layout, option);
  if (stages <= ends ? between != 0 : between % (stages - ends) != 0)
    refuse(option, fmt::format("pp={},vpp={}", layout.pipeline, layout.virtual_stages),
           fmt::format("{} stages must divide {} layers ({}); first and last may differ",
                       stages - ends, between, model.file));
  std::vector<std::int64_t> layers(static_cast<size_t>(stages),
                                   stages > ends ? between / (stages - ends) : 0);
  if (layout.first_layers > 0) layers.front() = layout.first_layers;
  if (layout.last_layers > 0) layers.back() = layout.last_layers;
  return layers;
}

std::vector<StagePart> stage_parts(const StageInputs& inputs) {
  const std::vector<std::int64_t> layers =
      layers_of_stages(*inputs.model, *inputs.layout, inputs.option);
  const std::int64_t width = bytes_a_value(inputs.precision);
  std::vector<StagePart> parts;
  std::map<std::tuple<std::int64_t, std::int64_t, bool, bool>, size_t> like;
  std::int64_t first = 0;
  for (size_t stage = 0; stage < layers.size(); ++stage) {
    const bool has_embedding = stage == 0;
    const bool has_head = stage + 1 == layers.size();
    // Alike but for where they are: as many layers with and without experts, the same ends.
    std::int64_t sparse = 0;
    for (std::int64_t i = first; i < first + layers[stage]; ++i)
      sparse += inputs.model->is_sparse(i) ? 1 : 0;
    const auto [known, is_new] =
        like.try_emplace({layers[stage], sparse, has_embedding, has_head}, parts.size());
    if (!is_new) {
      parts.push_back(parts[known->second]);
      parts.back().first_layer = first;
    } else {
      StagePart part{.first_layer = first, .layers = layers[stage]};
      const Network network = network_of(inputs, first, layers[stage], has_embedding, has_head);
      const auto in_bytes = [&](std::int64_t values) {
        return inputs.layout->micro_batch * width * values;
      };
      part.parameters = network.parameters();
      for (const Layer& layer : network.layers) {
        if (layer.type == "GroupedLinear") part.expert_parameters += layer.parameters;
        if (layer.name == "head")
          part.score_bytes = inputs.layout->micro_batch * layer.output_shape[0] *
                             layer.output_shape[1] * inputs.framework->score_bytes;
        if (layer.name.ends_with("ffn/sum") || layer.name.ends_with("/sum"))
          part.boundary_bytes = in_bytes(layer.output_shape[0] * layer.output_shape[1]);
      }
      // Of the scores all is among score_bytes.
      KeptBytes kept = kept_for_backward(network);
      if (has_head) kept.own = 0;
      part.kept_bytes = inputs.layout->micro_batch * kept.bytes(width).value;
      const std::int64_t last = std::max<std::int64_t>(first + layers[stage] - 1, 0);
      part.layer_kept_bytes =
          inputs.layout->micro_batch *
          kept_for_backward(network_of(inputs, last, 1, false, false)).bytes(width).value;
      add_times(inputs, network, part);
      add_exchanges(inputs, network, part);
      parts.push_back(part);
    }
    first += layers[stage];
  }
  return parts;
}

}  // namespace forescale
