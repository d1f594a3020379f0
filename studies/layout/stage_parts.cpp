#include "studies/layout/stage_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "algorithms/collective.hpp"
#include "base/error.hpp"
#include "models/compute/fitted_compute.hpp"
#include "models/workload/transformer/recompute.hpp"

namespace forescale {
namespace {

constexpr double kWeightShare = 0.5;  // of a product's two gradients
constexpr double kNanosecondsASecond = 1e9;
constexpr double kPermille = 1000;

double weight_share(const Layer& layer) { return layer.is_frozen_product() ? 0 : kWeightShare; }

Network network_of(const StageInputs& inputs, std::int64_t first, std::int64_t layers,
                   bool has_embedding, bool has_head) {
  const Layout& layout = *inputs.layout;
  return infer_network(
      decoder(*inputs.model, inputs.tokens, inputs.option,
              {.tensor = layout.tensor,
               .has_sequence_parallel = layout.has_sequence_parallel,
               .context = layout.context,
               .sends_heads = layout.context_exchange == ContextExchange::kAllToAll,
               .expert = layout.expert,
               .expert_tensor = inputs.model->experts ? layout.expert_tensor : 1,
               .expert_permille = std::lround(kPermille * layout.imbalance),
               .sends_once = layout.dispatcher == Dispatcher::kDeepEp,
               .first_layer = first,
               .layers = layers,
               .has_embedding = has_embedding,
               .has_head = has_head,
               .has_scores_in_memory = layout.attention == AttentionKind::kUnfused,
               .texts = layout.packed_texts,
               .adapters = adapters_of(layout)}));
}

// One by one. Source: Megatron-LM, core/transformer/attention.py (checkpoint_core_attention),
// whatever computes attention.
RunsAgainRule runs_again_of(const StageInputs& inputs) {
  const Layout& layout = *inputs.layout;
  if (layout.recompute == Recompute::kSelective) return runs_again(layout.modules());
  if (layout.recompute != Recompute::kSelectiveOp) return runs_again({});
  return runs_again_by_operator(
      *inputs.model,
      {.tensor = layout.tensor,
       .scatters_results = layout.tensor > 1 && layout.has_sequence_parallel,
       .has_plain_products = !inputs.products,
       .saves_other_products = inputs.framework->saves_other_products.value_or(false)});
}

// Seconds of a micro-batch's layers, in their order.
struct LayerSeconds {
  double forward_s = 0;
  double backward_s = 0;
};

ComputeTable table_of(const StageInputs& inputs, const Network& network) {
  return fitted_compute(*inputs.fitted, *inputs.gpu, network,
                        {.precision = inputs.precision,
                         .products = inputs.products ? std::optional(timed_as(*inputs.products))
                                                     : std::nullopt,
                         .memory_format = MemoryFormat::kNhwc,
                         .batches = {inputs.layout->micro_batch},
                         .is_dispatched = false},
                        nullptr)
      .table;
}

// Products beside which tensor parallelism's exchanges go on; that of the words' scores left out.
struct ProductsBeside {
  std::set<std::string> readers;  // of what is gathered
  std::set<std::string> writers;  // of what is reduced
};

ProductsBeside products_beside(const Network& network) {
  std::set<std::string> gathered;
  std::set<std::string> reduced;
  std::map<std::string, const Layer*> layers;
  for (const Layer& layer : network.layers) layers[layer.name] = &layer;
  for (const LayerSpec& spec : network.architecture.layers) {
    const auto found = layers.find(spec.name);
    if (found == layers.end() || !found->second->exchange ||
        found->second->exchange->group != ExchangeGroup::kTensor)
      continue;
    gathered.insert(spec.tops.front());
    reduced.insert(spec.bottoms.front());
  }
  ProductsBeside products;
  for (const LayerSpec& spec : network.architecture.layers) {
    const auto found = layers.find(spec.name);
    if (found == layers.end() || !found->second->is_product_within()) continue;
    if (gathered.contains(spec.bottoms.front())) products.readers.insert(spec.name);
    if (reduced.contains(spec.tops.front())) products.writers.insert(spec.name);
  }
  return products;
}

// Products in as many pieces as ranks, each waiting for its part of what is exchanged: forward all
// of them, backward the gradients by data of those whose results are reduced; the others' exchanges
// go on beside whole products. Source: NVIDIA/TransformerEngine, pytorch/module/base.py
// (initialize_ub: ring_exchange, pipeline and bulk).
void cut_into_pieces(const StageInputs& inputs, const Network& network,
                     std::vector<LayerTime>& times) {
  const std::int64_t pieces = inputs.layout->tensor;
  const ProductsBeside products = products_beside(network);
  Network piece = network;
  for (Layer& layer : piece.layers)
    if (auto* shape = std::get_if<LinearShape>(&layer.work)) {
      shape->vectors = std::max<std::int64_t>(shape->vectors / pieces, 1);
      layer.forward_flops /= static_cast<double>(pieces);
      layer.backward_flops /= static_cast<double>(pieces);
      layer.traffic_per_image.value /= pieces;
    }
  const std::vector<LayerTime> of_pieces = table_of(inputs, piece).layers;
  const auto count = static_cast<double>(pieces);
  for (size_t i = 0; i < times.size(); ++i) {
    const std::string& name = network.layers[i].name;
    const bool writes = products.writers.contains(name);
    if (!writes && !products.readers.contains(name)) continue;
    times[i].forward_t0_s = count * of_pieces[i].forward_t0_s;
    times[i].forward_t1_s = count * of_pieces[i].forward_t1_s;
    if (!writes) continue;
    const double weights = weight_share(network.layers[i]);
    const auto mixed = [&](double whole_s, double piece_s) {
      return weights * whole_s + (1 - weights) * count * piece_s;
    };
    times[i].backward_t0_s = mixed(times[i].backward_t0_s, of_pieces[i].backward_t0_s);
    times[i].backward_t1_s = mixed(times[i].backward_t1_s, of_pieces[i].backward_t1_s);
  }
}

// What the framework makes of a layer's kernels.
double kernels_factor(const StageInputs& inputs, const Layer& layer) {
  const TransformerFramework& framework = *inputs.framework;
  const double all = inputs.products ? framework.kernels_fp8 : framework.kernels;
  if (std::holds_alternative<AttentionShape>(layer.work)) return all * framework.attention;
  const bool is_other = std::holds_alternative<std::monostate>(layer.work) && !inputs.products;
  return is_other ? all * framework.others : all;
}

std::vector<LayerSeconds> times_of(const StageInputs& inputs, const Network& network) {
  std::vector<LayerTime> table = table_of(inputs, network).layers;
  if (inputs.layout->tensor_overlaps) cut_into_pieces(inputs, network, table);
  const auto batch = static_cast<double>(inputs.layout->micro_batch);
  std::vector<LayerSeconds> times;
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const LayerTime& time = table[i];
    const double factor = kernels_factor(inputs, network.layers[i]);
    times.push_back({.forward_s = factor * (time.forward_t0_s + batch * time.forward_t1_s),
                     .backward_s = factor * (time.backward_t0_s + batch * time.backward_t1_s)});
  }
  return times;
}

void add_times(const StageInputs& inputs, const Network& network,
               const std::vector<LayerSeconds>& times, StagePart& part) {
  const RunsAgainRule again = runs_again_of(inputs);
  const std::set<std::string> whole =
      run_again_in_blocks(network, inputs.framework->stops_recompute_early);
  for (size_t i = 0; i < times.size(); ++i) {
    const std::string& name = network.layers[i].name;
    part.forward_s += times[i].forward_s;
    part.backward_s += times[i].backward_s + again(name).share() * times[i].forward_s;
    if (whole.contains(name)) part.again_s += times[i].forward_s;
    if (network.layers[i].is_product())
      part.weight_gradients_s += weight_share(network.layers[i]) * times[i].backward_s;
  }
}

// How long tensor parallelism's exchanges go on under products: all of these but the first piece.
class TimesBeside {
 public:
  TimesBeside(const Network& network, const std::vector<LayerSeconds>& times,
              const StageInputs& inputs)
      : inputs_(inputs) {
    const ProductsBeside products = products_beside(network);
    for (size_t i = 0; i < times.size(); ++i) {
      const Layer& layer = network.layers[i];
      by_name_[layer.name] = times[i];
      add(all_, times[i]);
      if (layer.exchange && layer.exchange->group == ExchangeGroup::kExpert) ++expert_exchanges_;
    }
    for (const LayerSpec& spec : network.architecture.layers) {
      specs_[spec.name] = &spec;
      if (products.readers.contains(spec.name))
        add(blobs_[spec.bottoms.front()], by_name_[spec.name]);
      if (products.writers.contains(spec.name)) add(blobs_[spec.tops.front()], by_name_[spec.name]);
    }
    find_readers(network);
    find_hiding(network);
  }

  // Each of the layer's exchanges in that direction.
  std::int64_t under_ns(const Layer& layer, bool is_forward) const {
    if (layer.exchange->group == ExchangeGroup::kExpert) return under_layer_ns(is_forward);
    if (layer.exchange->group == ExchangeGroup::kContext)
      return under_attention_ns(layer, is_forward);
    if (is_under_gradient(layer, is_forward)) {
      const double reader_s = readers_.at(specs_.at(layer.name)->tops.front()).backward_s;
      return static_cast<std::int64_t>(kWeightShare * reader_s * kNanosecondsASecond);
    }
    if (!inputs_.layout->tensor_overlaps) return 0;
    const LayerSpec& spec = *specs_.at(layer.name);
    double beside_s = 0;
    for (const std::string& blob : {spec.tops.front(), spec.bottoms.front()})
      if (const auto found = blobs_.find(blob); found != blobs_.end())
        beside_s += is_forward ? found->second.forward_s : kWeightShare * found->second.backward_s;
    return in_ns(beside_s, inputs_.layout->tensor);
  }

  // What a product shared by output reads is gathered once more under its gradient by data, and the
  // results of that are added up, and scattered, under its gradient by weights, which are slowed.
  // Source: Megatron-LM, core/tensor_parallel/layers.py
  // (LinearWithGradAccumulationAndAsyncCommunication).
  bool is_under_gradient(const Layer& layer, bool is_forward) const {
    const TensorHiding hiding = inputs_.framework->tensor_hiding;
    const bool is_hidden = hiding == TensorHiding::kAll || (hiding == TensorHiding::kGathers &&
                                                            inputs_.layout->has_sequence_parallel);
    return !is_forward && is_hidden && !inputs_.splits_backward &&
           !inputs_.layout->tensor_overlaps &&
           readers_.contains(specs_.at(layer.name)->tops.front());
  }

 private:
  // All but the first of so many pieces.
  static std::int64_t in_ns(double beside_s, std::int64_t pieces) {
    const double share = 1 - 1 / static_cast<double>(pieces);
    return static_cast<std::int64_t>(share * beside_s * kNanosecondsASecond);
  }

  // Another micro-batch's pass, which runs beside; it waits for as much of this one, so that all
  // exchanges have the kernels of both: counted as if each pass hid its own, in equal parts.
  std::int64_t under_layer_ns(bool is_forward) const {
    if (!inputs_.layout->expert_overlaps) return 0;
    const double free_s =
        is_forward ? all_.forward_s - hiding_.forward_s : all_.backward_s - hiding_.backward_s;
    return static_cast<std::int64_t>(std::max(0.0, free_s) / expert_exchanges_ *
                                     kNanosecondsASecond);
  }

  // A ring's: of what a pass exchanges each has an equal part of it.
  std::int64_t under_attention_ns(const Layer& layer, bool is_forward) const {
    if (inputs_.layout->context_exchange != ContextExchange::kRing) return 0;
    const LayerSeconds& attention = by_name_.at(core_attention_beside(layer.name));
    const std::vector<ExchangeKind>& kinds =
        is_forward ? layer.exchange->forward : layer.exchange->backward;
    return in_ns((is_forward ? attention.forward_s : attention.backward_s) /
                     static_cast<double>(kinds.size()),
                 inputs_.layout->context);
  }

  // Products, that of the words' scores too, that read what tensor parallelism spreads.
  void find_readers(const Network& network) {
    std::set<std::string> spread;
    for (const Layer& layer : network.layers)
      if (layer.type == "AllGather" || layer.type == "CopyToGroup")
        spread.insert(specs_.at(layer.name)->tops.front());
    for (const Layer& layer : network.layers) {
      const LayerSpec& spec = *specs_.at(layer.name);
      if (spec.bottoms.empty()) continue;
      const auto read = spread.find(spec.bottoms.front());
      if (read != spread.end() && layer.is_product()) add(readers_[*read], by_name_[layer.name]);
    }
    // A frozen product has no gradient by weights to hide anything.
    for (const Layer& layer : network.layers)
      if (layer.is_frozen_product()) readers_.erase(specs_.at(layer.name)->bottoms.front());
  }

  // How long kernels have the exchanges of other groups beside them.
  void find_hiding(const Network& network) {
    const auto seconds = [&](const Layer& layer, bool is_forward) {
      const std::vector<ExchangeKind>& kinds =
          is_forward ? layer.exchange->forward : layer.exchange->backward;
      return static_cast<double>(kinds.size()) * static_cast<double>(under_ns(layer, is_forward)) /
             kNanosecondsASecond;
    };
    for (const Layer& layer : network.layers)
      if (layer.exchange && layer.exchange->group != ExchangeGroup::kExpert)
        add(hiding_, {.forward_s = seconds(layer, true), .backward_s = seconds(layer, false)});
  }

  static void add(LayerSeconds& sum, const LayerSeconds& time) {
    sum.forward_s += time.forward_s;
    sum.backward_s += time.backward_s;
  }

  const StageInputs& inputs_;
  std::map<std::string, const LayerSpec*> specs_;
  std::map<std::string, LayerSeconds> by_name_;
  LayerSeconds all_ = {};
  double expert_exchanges_ = 0;
  std::map<std::string, LayerSeconds> blobs_;    // of the products that read or write them
  std::map<std::string, LayerSeconds> readers_;  // by what they read
  LayerSeconds hiding_ = {};
};

// Of a micro-batch.
std::int64_t kept_bytes(const StageInputs& inputs, const Network& network, bool has_head) {
  // Of the scores all is among score_bytes.
  KeptBytes kept =
      kept_for_backward(network, runs_again_of(inputs), inputs.framework->gates_are_two_kernels);
  if (has_head) kept.own = 0;
  const std::int64_t width = whole_bytes_a_value(inputs.precision);
  const Bytes bytes =
      inputs.products ? kept.bytes(width, bytes_a_value(*inputs.products)) : kept.bytes(width);
  return inputs.layout->micro_batch * bytes.value;
}

// A token's vector, of the tokens that are this GPU's between layers.
std::int64_t boundary_bytes(const StageInputs& inputs) {
  const Layout& layout = *inputs.layout;
  const std::int64_t sharers = layout.context * (layout.has_sequence_parallel ? layout.tensor : 1);
  return layout.micro_batch * whole_bytes_a_value(inputs.precision) * (inputs.tokens / sharers) *
         inputs.model->hidden;
}

// Of results that are made whole, then scattered by token.
std::int64_t held_result_bytes(const StageInputs& inputs, std::int64_t layers) {
  const Layout& layout = *inputs.layout;
  if (layout.tensor == 1 || !layout.has_sequence_parallel) return 0;
  return std::llround(inputs.framework->held_results *
                      static_cast<double>(layers * layout.tensor * boundary_bytes(inputs)));
}

// Scores' own bytes where their gradient takes their place, of BF16.
constexpr std::int64_t kScoreBytesInPlace = 2;

std::int64_t score_bytes(const StageInputs& inputs, const Layer& head) {
  return inputs.layout->micro_batch * head.output_shape[0] * head.output_shape[1] *
         (inputs.layout->loss_in_place ? kScoreBytesInPlace : inputs.framework->score_bytes);
}

// One of each shape of weights; of experts, which are alike, one.
std::int64_t gradient_buffer_bytes(const StageInputs& inputs, const Network& network) {
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  for (const Layer& layer : network.layers)
    if (const auto* linear = std::get_if<LinearShape>(&layer.work); linear && !layer.frozen)
      shapes.emplace(linear->outputs, linear->inputs);
  std::int64_t values = 0;
  for (const auto& [outputs, of_inputs] : shapes) values += outputs * of_inputs;
  return values * inputs.framework->gradient_buffer_bytes;
}

double slowed_beside_s(const StageInputs& inputs, ExchangeKind kind, std::int64_t bytes) {
  const CollectiveOp op =
      kind == ExchangeKind::kAllReduce ? CollectiveOp::kAllReduce : CollectiveOp::kAllGather;
  return inputs.stack->slows_kernels_s(
      brought_bytes(op, bytes, static_cast<std::size_t>(inputs.layout->tensor)), *inputs.gpu);
}

void add_exchanges(const StageInputs& inputs, const Network& network,
                   const std::vector<LayerSeconds>& times, StagePart& part) {
  const TimesBeside beside(network, times, inputs);
  const RunsAgainRule again = runs_again_of(inputs);
  const std::set<std::string> whole =
      run_again_in_blocks(network, inputs.framework->stops_recompute_early);
  const std::int64_t bytes_a_sequence_value =
      inputs.layout->micro_batch * whole_bytes_a_value(inputs.precision);
  for (const Layer& layer : network.layers) {
    if (!layer.exchange) continue;
    const auto count = [&](const std::vector<ExchangeKind>& kinds, bool is_forward,
                           ExchangeCounts& counts) {
      const std::int64_t bytes = layer.exchange->values * bytes_a_sequence_value;
      for (const ExchangeKind kind : kinds) {
        std::int64_t under_ns = beside.under_ns(layer, is_forward);
        if (beside.is_under_gradient(layer, is_forward)) {
          const double slow_s = slowed_beside_s(inputs, kind, bytes);
          part.backward_s += slow_s;
          under_ns += static_cast<std::int64_t>(slow_s * kNanosecondsASecond);
        }
        ++counts[{
            .group = layer.exchange->group, .kind = kind, .bytes = bytes, .under_ns = under_ns}];
      }
    };
    count(layer.exchange->forward, true, part.forward);
    count(layer.exchange->backward, false, part.backward);
    if (whole.contains(layer.name)) count(layer.exchange->forward, true, part.again);
    // Within what runs again.
    const std::string within = layer.exchange->group == ExchangeGroup::kContext
                                   ? core_attention_beside(layer.name)
                                   : layer.name;
    if (again(within).how != RunsAgain::kNo) count(layer.exchange->forward, true, part.backward);
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
  if ((model.layers + 2) % stages != 0)
    refuse(option, fmt::format("split=ends,pp={},vpp={}", layout.pipeline, layout.virtual_stages),
           fmt::format("{} stages must divide {} layers and 2 ends ({})", stages, model.layers,
                       model.file));
  std::vector<std::int64_t> layers(static_cast<size_t>(stages), (model.layers + 2) / stages);
  --layers.front();
  --layers.back();
  return layers;
}

}  // namespace

Adapters adapters_of(const Layout& layout) {
  if (layout.lora == 0) return {};
  const std::vector<std::string> targets = layout.adapted();
  return {.rank = layout.lora, .targets = {targets.begin(), targets.end()}};
}

double StageExchange::under_s() const {
  return static_cast<double>(under_ns) / kNanosecondsASecond;
}

std::vector<std::int64_t> layers_of_stages(const Transformer& model, const Layout& layout,
                                           const std::string& option) {
  const std::int64_t stages = layout.pipeline * layout.virtual_stages;
  const std::int64_t ends = (layout.first_layers > 0 ? 1 : 0) + (layout.last_layers > 0 ? 1 : 0);
  const std::int64_t between = model.layers - layout.first_layers - layout.last_layers;
  const std::int64_t most = model.layers + (layout.split == LayerSplit::kEnds ? 2 : 0);
  if (stages > most)
    refuse(option, fmt::format("pp={},vpp={}", layout.pipeline, layout.virtual_stages),
           fmt::format("their product {} must be at most the {} layers ({})", stages, most,
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
      StagePart part{.first_layer = first, .layers = layers[stage], .sparse_layers = sparse};
      const Network network = network_of(inputs, first, layers[stage], has_embedding, has_head);
      part.boundary_bytes = boundary_bytes(inputs);
      part.held_result_bytes = held_result_bytes(inputs, layers[stage]);
      part.parameters = network.parameters();
      for (const Layer& layer : network.layers)
        part.frozen_bytes += layer.frozen_parameters *
                             (layer.is_product_within() ? inputs.layout->lora_weight_bytes
                                                        : whole_bytes_a_value(inputs.precision));
      for (const Layer& layer : network.layers) {
        if (layer.type == "GroupedLinear") part.expert_parameters += layer.parameters;
        if (layer.name == "head") part.score_bytes = score_bytes(inputs, layer);
      }
      part.gradient_buffer_bytes = gradient_buffer_bytes(inputs, network);
      part.kept_bytes = kept_bytes(inputs, network, has_head);
      const std::int64_t last = std::max<std::int64_t>(first + layers[stage] - 1, 0);
      part.layer_kept_bytes = kept_bytes(inputs, network_of(inputs, last, 1, false, false), false);
      const std::vector<LayerSeconds> times = times_of(inputs, network);
      add_times(inputs, network, times, part);
      add_exchanges(inputs, network, times, part);
      parts.push_back(part);
    }
    first += layers[stage];
  }
  return parts;
}

}  // namespace forescale
