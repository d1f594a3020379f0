// Qwen: 2 has biases at queries, keys and values; 3 norms of each head's queries and keys instead.
#include "models/workload/transformer/family.hpp"

namespace forescale {
namespace {

void finish_qwen3(const JsonInput& in, Transformer& model) {
  read_attention_bias(in, model, false);
  model.query_key_norm = true;
}

void finish_qwen3_moe(const JsonInput& in, Transformer& model) {
  finish_qwen3(in, model);
  model.experts = ExpertShape{.count = 128, .per_token = 8, .ffn = 768};
  read_experts(in, model, "num_experts", "moe_intermediate_size");
  if (count_in(in, "decoder_sparse_step", 1) != 1)
    in.at("decoder_sparse_step").fail("must be 1: dense layers between sparse ones are not known");
  const auto dense = given(in, "mlp_only_layers");
  if (dense && !dense->elements().empty()) dense->fail("must be empty: all layers have experts");
}

const bool kQwenRegistered = [] {
  Registry<TransformerFamily>::add({.name = "qwen2",
                                    .source = "transformers, configuration_qwen2.py",
                                    .defaults = {.layers = 32,
                                                 .hidden = 4096,
                                                 .heads = 32,
                                                 .kv_heads = 32,
                                                 .ffn = 22016,
                                                 .vocabulary = 151936,
                                                 .qkv_bias = true}});
  Registry<TransformerFamily>::add({.name = "qwen3",
                                    .source = "transformers, configuration_qwen3.py",
                                    .defaults = {.layers = 32,
                                                 .hidden = 4096,
                                                 .heads = 32,
                                                 .kv_heads = 32,
                                                 .head_size = 128,
                                                 .ffn = 22016,
                                                 .vocabulary = 151936},
                                    .finish = finish_qwen3});
  Registry<TransformerFamily>::add({.name = "qwen3_moe",
                                    .source = "transformers, configuration_qwen3_moe.py",
                                    .defaults = {.layers = 24,
                                                 .hidden = 2048,
                                                 .heads = 32,
                                                 .kv_heads = 4,
                                                 .ffn = 6144,
                                                 .vocabulary = 151936},
                                    .finish = finish_qwen3_moe});
  return true;
}();

}  // namespace
}  // namespace forescale
