#include "models/workload/transformer/recompute.hpp"

#include <algorithm>
#include <map>

#include "models/workload/operator.hpp"
#include "models/workload/transformer/decoder.hpp"

namespace forescale {
namespace {

// Of a block's layers: whose results are dropped, and what else runs again.
struct RecomputeModule {
  const char* name;
  std::vector<const char*> dropped;
  std::vector<const char*> kept;
};

const std::vector<RecomputeModule> kRecomputeModules{
    {"core_attn", {}, {}},
    {"layernorm", {"attention/norm", "ffn/norm"}, {}},
    {"mla_up_proj", {"query/norm", "query/up", "kv/norm", "kv/up", "rotary"}, {}},
    {"mlp", {"ffn/up", "ffn/activation"}, {"ffn/spread", "ffn/down", "ffn/collect"}},
    {"moe_act", {"experts/activation"}, {}},
    {"shared_experts",
     {"shared/up", "shared/activation"},
     {"shared/spread", "shared/down", "shared/collect"}},
};

// Without the layer's number: "ffn/up" of "layer1/ffn/up"; empty for what is in no block.
std::string place_in_block(const std::string& layer) {
  constexpr const char* kBlock = "layer";
  const std::size_t end = layer.find('/');
  return layer.rfind(kBlock, 0) == 0 && end != std::string::npos ? layer.substr(end + 1) : "";
}

// The matrices of a block's product, side by side: outputs of each, in the order in which they are
// multiplied.
struct BlockProduct {
  std::string place;
  std::vector<std::int64_t> outputs;
  bool has_bias = false;
};

std::vector<BlockProduct> products_of_block(const Transformer& model, std::int64_t tensor) {
  const std::int64_t queries = model.heads / tensor * model.head_size;
  const std::int64_t keys = std::max<std::int64_t>(1, model.kv_heads / tensor) * model.head_size;
  const std::vector<std::int64_t> up(model.is_gated ? 2 : 1, model.ffn / tensor);
  return {{"qkv", {queries, keys, keys}, model.qkv_bias},
          {"projection", {model.hidden}, model.projection_bias},
          {"ffn/up", up, model.ffn_bias},
          {"ffn/down", {model.hidden}, model.ffn_bias}};
}

}  // namespace

std::vector<std::string> recompute_modules() {
  std::vector<std::string> names;
  for (const RecomputeModule& module : kRecomputeModules) names.emplace_back(module.name);
  return names;
}

RunsAgainRule runs_again(const std::vector<std::string>& modules) {
  std::vector<RecomputeModule> chosen;
  for (const RecomputeModule& module : kRecomputeModules)
    if (std::find(modules.begin(), modules.end(), module.name) != modules.end())
      chosen.push_back(module);
  return [chosen](const std::string& name) {
    const std::string layer = place_in_block(name);
    const auto is_among = [&](const std::vector<const char*>& names) {
      return std::find(names.begin(), names.end(), layer) != names.end();
    };
    for (const RecomputeModule& module : chosen) {
      if (module.name == std::string("core_attn") &&
          name.rfind(core_attention_beside(name), 0) == 0)
        return RunsAgain{RunsAgain::kWithin};
      if (is_among(module.dropped)) return RunsAgain{RunsAgain::kResultToo};
      if (is_among(module.kept)) return RunsAgain{RunsAgain::kWithin};
    }
    return RunsAgain{};
  };
}

RunsAgainRule runs_again_by_operator(const Transformer& model, const BlockOperators& operators) {
  std::map<std::string, RunsAgain> again;
  // What is gathered for products is gathered for their gradients in any case.
  for (const char* place : {"attention/norm", "head_norm", "rotary", "attention/norm2",
                            "attention/sum", "ffn/norm", "ffn/activation"})
    again[place] = {RunsAgain::kResultToo};
  if (!operators.scatters_results) again["attention/collect"] = {RunsAgain::kResultToo};
  bool is_second = false;  // of two plain products
  for (const BlockProduct& product : products_of_block(model, operators.tensor)) {
    std::int64_t dropped = 0;
    std::int64_t all = 0;
    for (const std::int64_t outputs : product.outputs) {
      const bool is_plain = operators.has_plain_products && !product.has_bias;
      const bool is_saved = is_plain ? !is_second : operators.saves_other_products;
      if (is_plain) is_second = !is_second;
      all += outputs;
      if (!is_saved) dropped += outputs;
    }
    if (dropped > 0)
      again[product.place] = {RunsAgain::kResultToo,
                              static_cast<double>(dropped) / static_cast<double>(all)};
  }
  // Nobody reads their results again.
  if (operators.scatters_results) again.erase("projection");
  again.erase("ffn/down");
  return [again](const std::string& layer) {
    const auto found = again.find(place_in_block(layer));
    return found == again.end() ? RunsAgain{} : found->second;
  };
}

std::set<std::string> run_again_in_blocks(const Network& network, bool stops_early) {
  std::map<std::string, const Layer*> layers;
  for (const Layer& layer : network.layers) layers[layer.name] = &layer;
  std::set<std::string> again;
  std::vector<std::string> since_last_read;  // of one block
  std::string block;
  for (const LayerSpec& spec : network.architecture.layers) {
    const auto found = layers.find(spec.name);
    if (found == layers.end() || place_in_block(spec.name).empty()) continue;
    if (!stops_early) {
      again.insert(spec.name);
      continue;
    }
    const std::string of_block = spec.name.substr(0, spec.name.find('/'));
    if (of_block != block) since_last_read.clear();
    block = of_block;
    const Operator& rule = *find_operator(spec.type);
    const Layer& layer = *found->second;
    const bool runs = rule.reads_outputs_again || layer.kept_flags > 0;
    if (runs) since_last_read.push_back(spec.name);
    if (runs || rule.reads_inputs_again) {
      again.insert(since_last_read.begin(), since_last_read.end());
      since_last_read.clear();
    }
    if (!runs) since_last_read.push_back(spec.name);
  }
  return again;
}

}  // namespace forescale
