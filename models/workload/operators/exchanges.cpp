// What passes between the GPUs that share a layer ("ranks" of them: by "tensor", "context" or
// "expert" parallelism). Blobs are a token's vectors; no work and no memory of their own.
//
// With sequence parallelism an AllGather of tokens stands before a product whose weights are shared
// by output, a ReduceScatter after one shared by input; what was gathered is gathered "again" in
// the backward pass and not kept. Without it the pair is CopyToGroup, which adds up gradients, and
// ReduceFromGroup, which adds up results. AllToAll sends tokens to their experts and "back", "once"
// to each node; the GPU with most gets "permille" of an equal share.
// KeysToAll brings "width" values a token, keys and values, of all of the sequence's parts to
// attention, piece by piece (ring attention) or at once; backward again, and their gradients back.
// Source: Korthikanti et al., arXiv:2205.05198, section 4.2.1 (g, its conjugate, f); Megatron-LM,
// core/tensor_parallel/mappings.py; TransformerEngine, pytorch/attention (AttnFuncWithCPAndKVP2P,
// AttnFuncWithCPAndKVAllGather).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

using Kinds = std::vector<ExchangeKind>;

ExchangeGroup exchange_group(const LayerSpec& layer, const std::string& file) {
  const std::vector<std::pair<const char*, ExchangeGroup>> known = {
      {"tensor", ExchangeGroup::kTensor},
      {"context", ExchangeGroup::kContext},
      {"expert", ExchangeGroup::kExpert}};
  for (const auto& [name, group] : known)
    if (layer.flags.contains(name)) return group;
  layer_error(layer, file,
              {.key = "", .value = "", .constraint = "must say tensor, context or expert"});
}

LayerEffect exchanged(const LayerSpec& layer, const std::string& file, Shape output,
                      Exchange exchange) {
  exchange.group = exchange_group(layer, file);
  LayerEffect effect{.outputs = {std::move(output)}};
  effect.exchange = std::move(exchange);
  return effect;
}

LayerEffect all_gather(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_sequence(layer, file, inputs[0]);
  const Shape out{inputs[0][0] * size_of(layer, file, "ranks"), inputs[0][1]};
  Kinds backward{ExchangeKind::kReduceScatter};
  if (layer.flags.contains("again")) backward.insert(backward.begin(), ExchangeKind::kAllGather);
  return exchanged(layer, file, out,
                   {.forward = {ExchangeKind::kAllGather},
                    .backward = backward,
                    .values = value_count(out, layer, file)});
}

LayerEffect reduce_scatter(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_sequence(layer, file, inputs[0]);
  const std::int64_t ranks = size_of(layer, file, "ranks");
  if (inputs[0][0] % ranks != 0)
    layer_error(layer, file,
                {.key = "ranks",
                 .value = std::to_string(ranks),
                 .constraint = fmt::format("must divide the tokens {}", inputs[0][0])});
  return exchanged(layer, file, {inputs[0][0] / ranks, inputs[0][1]},
                   {.forward = {ExchangeKind::kReduceScatter},
                    .backward = {ExchangeKind::kAllGather},
                    .values = value_count(inputs[0], layer, file)});
}

LayerEffect same_everywhere(const LayerSpec& layer, const std::string& file, const Inputs& inputs,
                            Kinds forward, Kinds backward) {
  size_of(layer, file, "ranks");
  return exchanged(layer, file, inputs[0],
                   {.forward = std::move(forward),
                    .backward = std::move(backward),
                    .values = value_count(inputs[0], layer, file)});
}

LayerEffect copy_to_group(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  return same_everywhere(layer, file, inputs, {}, {ExchangeKind::kAllReduce});
}
LayerEffect reduce_from_group(const LayerSpec& layer, const std::string& file,
                              const Inputs& inputs) {
  return same_everywhere(layer, file, inputs, {ExchangeKind::kAllReduce}, {});
}
LayerEffect all_to_all(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  constexpr std::int64_t kEven = 1000;
  const std::int64_t permille =
      layer.sizes.contains("permille") ? size_of(layer, file, "permille") : kEven;
  const ExchangeKind kind =
      layer.flags.contains("once") ? ExchangeKind::kTokens : ExchangeKind::kAllToAll;
  LayerEffect effect = same_everywhere(layer, file, inputs, {kind}, {kind});
  if (permille < kEven)
    layer_error(layer, file,
                {.key = "permille",
                 .value = std::to_string(permille),
                 .constraint = "must be at least 1000"});
  // There rounded down, back rounded up, which gives the same tokens.
  std::int64_t& tokens = effect.outputs[0][0];
  tokens = layer.flags.contains("back") ? (tokens * kEven + permille - 1) / permille
                                        : tokens * permille / kEven;
  effect.exchange->values = std::max(effect.exchange->values, tokens * inputs[0][1]);
  return effect;
}

LayerEffect keys_to_all(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_sequence(layer, file, inputs[0]);
  const std::int64_t tokens = inputs[0][0] * size_of(layer, file, "ranks");
  return exchanged(layer, file, inputs[0],
                   {.forward = {ExchangeKind::kAllGather},
                    .backward = {ExchangeKind::kAllGather, ExchangeKind::kReduceScatter},
                    .values = tokens * size_of(layer, file, "width")});
}

const bool kExchangesRegistered = [] {
  const auto add = [](const char* name, auto apply) {
    Operator rule{.name = name, .kind = OperatorKind::kView, .apply = apply};
    rule.sizes = {"ranks"};
    rule.flags = {"tensor", "context", "expert"};
    if (rule.name == "AllGather") rule.flags.emplace_back("again");
    if (rule.name == "KeysToAll") rule.sizes.emplace_back("width");
    if (rule.name == "AllToAll") {
      rule.sizes.emplace_back("permille");
      rule.flags.insert(rule.flags.end(), {"back", "once"});
    }
    Registry<Operator>::add(rule);
  };
  add("AllGather", all_gather);
  add("ReduceScatter", reduce_scatter);
  add("CopyToGroup", copy_to_group);
  add("ReduceFromGroup", reduce_from_group);
  add("AllToAll", all_to_all);
  add("KeysToAll", keys_to_all);
  return true;
}();

}  // namespace
}  // namespace forescale
