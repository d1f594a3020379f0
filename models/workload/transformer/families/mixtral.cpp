// A choice of experts in every layer: Mixtral, and gpt-oss with biases and a sink a head.
#include "models/workload/transformer/family.hpp"

namespace forescale {
namespace {

void finish_mixtral(const JsonInput& in, Transformer& model) {
  model.experts = ExpertShape{.count = 8, .per_token = 2, .ffn = model.ffn};
  read_experts(in, model, "num_local_experts", "intermediate_size");
}

void finish_gpt_oss(const JsonInput& in, Transformer& model) {
  model.experts = ExpertShape{.count = 128, .per_token = 4, .ffn = model.ffn};
  model.experts->has_bias = model.experts->router_bias = true;
  read_experts(in, model, "num_local_experts", "intermediate_size");
  read_attention_bias(in, model, true);
  model.has_sinks = true;
}

const bool kMixtralRegistered = [] {
  Registry<TransformerFamily>::add({.name = "mixtral",
                                    .source = "transformers, configuration_mixtral.py",
                                    .defaults = {.layers = 32,
                                                 .hidden = 4096,
                                                 .heads = 32,
                                                 .kv_heads = 8,
                                                 .ffn = 14336,
                                                 .vocabulary = 32000},
                                    .finish = finish_mixtral});
  Registry<TransformerFamily>::add({.name = "gpt_oss",
                                    .source = "transformers, configuration_gpt_oss.py",
                                    .defaults = {.layers = 36,
                                                 .hidden = 2880,
                                                 .heads = 64,
                                                 .kv_heads = 8,
                                                 .head_size = 64,
                                                 .ffn = 2880,
                                                 .vocabulary = 201088},
                                    .finish = finish_gpt_oss});
  return true;
}();

}  // namespace
}  // namespace forescale
