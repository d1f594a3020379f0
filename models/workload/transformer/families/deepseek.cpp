// DeepSeek: latent attention, shared experts beside those that are chosen, ordinary layers first.
// "head_dim" of its files is the rotary part alone. Limits: the layers for several tokens at once
// (num_nextn_predict_layers) are left out, as they are of the published count.
#include "models/workload/transformer/family.hpp"

namespace forescale {
namespace {

struct DeepseekDefaults {
  ExpertShape experts;
  std::int64_t shared_count = 0;
};

void finish_deepseek(const JsonInput& in, Transformer& model, DeepseekDefaults defaults) {
  const LatentShape latent{.query_rank = in.has("q_lora_rank") ? count_in(in, "q_lora_rank") : 1536,
                           .kv_rank = size_in(in, "kv_lora_rank", 512),
                           .rotary = size_in(in, "qk_rope_head_dim", 64),
                           .plain = size_in(in, "qk_nope_head_dim", 128),
                           .value = size_in(in, "v_head_dim", 128)};
  model.latent = latent;
  model.kv_heads = model.heads;
  model.head_size = latent.plain + latent.rotary;
  read_attention_bias(in, model, false);
  if (count_in(in, "n_routed_experts", defaults.experts.count) == 0) return;
  model.experts = defaults.experts;
  read_experts(in, model, "n_routed_experts", "moe_intermediate_size");
  model.experts->shared_ffn =
      model.experts->ffn * count_in(in, "n_shared_experts", defaults.shared_count);
  model.experts->dense_first = count_in(in, "first_k_dense_replace", defaults.experts.dense_first);
}

const bool kDeepseekRegistered = [] {
  Registry<TransformerFamily>::add(
      {.name = "deepseek_v2",
       .source = "transformers, configuration_deepseek_v2.py",
       .defaults = {.layers = 30, .hidden = 4096, .heads = 32, .ffn = 11008, .vocabulary = 102400},
       .finish = [](const JsonInput& in, Transformer& model) {
         finish_deepseek(in, model, {.experts = {.ffn = 1407}});
       }});
  Registry<TransformerFamily>::add(
      {.name = "deepseek_v3",
       .source = "transformers, configuration_deepseek_v3.py",
       .defaults = {.layers = 61, .hidden = 7168, .heads = 128, .ffn = 18432, .vocabulary = 129280},
       .finish = [](const JsonInput& in, Transformer& model) {
         finish_deepseek(in, model,
                         {.experts = {.count = 256, .per_token = 8, .ffn = 2048, .dense_first = 3},
                          .shared_count = 1});
       }});
  return true;
}();

}  // namespace
}  // namespace forescale
