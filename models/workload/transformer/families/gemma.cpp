// Gemma: heads wider than hidden / heads, GELU as gate, tied embeddings; Gemma 2 has norms after
// attention and feed-forward too.
#include "models/workload/transformer/family.hpp"

namespace forescale {
namespace {

const bool kGemmaRegistered = [] {
  Transformer gemma;
  gemma.head_size = 256;
  gemma.vocabulary = 256000;
  gemma.is_tied = true;
  gemma.activation = "GELU";
  const auto add = [](const char* name, const char* source, Transformer defaults) {
    Registry<TransformerFamily>::add({.name = name,
                                      .source = source,
                                      .defaults = std::move(defaults),
                                      .finish = [](const JsonInput& in, Transformer& model) {
                                        read_attention_bias(in, model, false);
                                      }});
  };
  gemma.layers = 28;
  gemma.hidden = 3072;
  gemma.heads = gemma.kv_heads = 16;
  gemma.ffn = 24576;
  add("gemma", "transformers, configuration_gemma.py", gemma);
  gemma.layers = 26;
  gemma.hidden = 2304;
  gemma.heads = 8;
  gemma.kv_heads = 4;
  gemma.ffn = 9216;
  gemma.output_norms = true;
  add("gemma2", "transformers, configuration_gemma2.py", gemma);
  return true;
}();

}  // namespace
}  // namespace forescale
