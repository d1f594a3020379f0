#include "models/workload/kept.hpp"

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

std::int64_t values_in(const Shape& shape) {
  std::int64_t values = 1;
  for (const std::int64_t side : shape) values *= side;
  return values;
}

// Memory of its own, not another blob's: what is gathered again counts as what it was gathered
// from.
bool has_own_memory(const LayerSpec& spec, const Operator& rule, const Layer& layer) {
  if (layer.exchange)
    return !layer.exchange->forward.empty() &&
           (layer.exchange->forward.front() != ExchangeKind::kAllGather ||
            (spec.type == "AllGather" && !spec.flags.contains("again")));
  return rule.kind != OperatorKind::kView || spec.type == "Received";
}

}  // namespace

KeptBytes kept_for_backward(const Network& network, const RunsAgainRule& again_rule,
                            bool gates_are_two_kernels) {
  const auto how_again = [&](const std::string& layer) {
    return again_rule ? again_rule(layer) : RunsAgain{};
  };
  const auto dropped_share = [&](const std::string& layer) {
    const RunsAgain again = how_again(layer);
    return again.how == RunsAgain::kResultToo ? again.share() : 0;
  };
  std::map<std::string, const Layer*> inferred;
  for (const Layer& layer : network.layers) inferred[layer.name] = &layer;
  std::map<std::string, const Layer*> memory;  // by blob, the layer whose output it now holds
  std::set<const Layer*> kept;
  std::set<const Layer*> by_products;
  std::set<const Layer*> by_others;
  KeptBytes sum;
  for (const LayerSpec& spec : network.architecture.layers) {
    const auto found = inferred.find(spec.name);
    if (found == inferred.end()) continue;
    const Layer& layer = *found->second;
    const Operator& rule = *find_operator(spec.type);
    const bool again = how_again(spec.name).how != RunsAgain::kNo;
    // Gradients by data need the weights alone.
    const bool reads_inputs = rule.reads_inputs_again && !layer.is_frozen_product();
    if (reads_inputs || again)
      for (const std::string& bottom : spec.bottoms) {
        const RunsAgain of_bottom = how_again(memory[bottom]->name);
        if (of_bottom.share() == 1 && (of_bottom.how == RunsAgain::kResultToo ||
                                       (again && of_bottom.how == RunsAgain::kWithin)))
          continue;
        kept.insert(memory[bottom]);
        (layer.is_product_within() ? by_products : by_others).insert(memory[bottom]);
      }
    const Layer* holder = &layer;
    if (!has_own_memory(spec, rule, layer) && !spec.bottoms.empty())
      holder = memory[spec.bottoms.front()];
    for (const std::string& top : spec.tops) memory[top] = holder;
    if (again) continue;
    if (rule.reads_outputs_again) {
      kept.insert(holder);
      by_others.insert(holder);
    }
    if (rule.is_gate && gates_are_two_kernels) sum.values += values_in(layer.output_shape);
    sum.own += layer.kept_per_image.value / kBytesPerValue;
    sum.flags += layer.kept_flags;
  }
  for (const Layer* layer : kept) {
    if (layer == nullptr || find_operator(layer->type)->kind == OperatorKind::kData) continue;
    const auto values = std::llround((1 - dropped_share(layer->name)) *
                                     static_cast<double>(values_in(layer->output_shape)));
    sum.values += values;
    if (!by_products.contains(layer)) continue;
    sum.products += values;
    if (!by_others.contains(layer)) sum.products_alone += values;
  }
  return sum;
}

}  // namespace forescale
