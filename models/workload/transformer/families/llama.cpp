// Llama and what differs from it in sizes alone: RMSNorm, rotary positions, a gated feed-forward
// part, no biases.
#include "models/workload/transformer/family.hpp"

namespace forescale {
namespace {

const bool kLlamaRegistered = [] {
  Registry<TransformerFamily>::add(
      {.name = "llama",
       .source = "transformers, configuration_llama.py",
       .defaults = {.layers = 32, .hidden = 4096, .heads = 32, .ffn = 11008, .vocabulary = 32000},
       .finish = [](const JsonInput& in, Transformer& model) {
         read_attention_bias(in, model, false);
         model.ffn_bias = flag_in(in, "mlp_bias", false);
       }});
  Registry<TransformerFamily>::add({.name = "mistral",
                                    .source = "transformers, configuration_mistral.py",
                                    .defaults = {.layers = 32,
                                                 .hidden = 4096,
                                                 .heads = 32,
                                                 .kv_heads = 8,
                                                 .ffn = 14336,
                                                 .vocabulary = 32000}});
  Registry<TransformerFamily>::add(
      {.name = "phi3",
       .source = "transformers, configuration_phi3.py",
       .defaults = {.layers = 32, .hidden = 3072, .heads = 32, .ffn = 8192, .vocabulary = 32064}});
  return true;
}();

}  // namespace
}  // namespace forescale
