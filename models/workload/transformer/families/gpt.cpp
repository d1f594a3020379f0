// GPT-2 and those after it: LayerNorm, biases, one product up and one down with an activation
// between them. Megatron's GPT and GPT-3 are "gpt2" with their sizes.
#include "models/workload/transformer/family.hpp"

namespace forescale {
namespace {

Transformer gpt(Transformer model) {
  model.activation = "GELU";
  model.is_gated = model.has_rms_norm = model.has_rotary = false;
  model.qkv_bias = model.projection_bias = model.ffn_bias = true;
  return model;
}

// Probabilities from 0; above it there is some.
void read_dropout(const JsonInput& in, Transformer& model, const char* hidden,
                  const char* attention) {
  if (const auto given_one = given(in, hidden)) model.has_dropout = given_one->number(0) > 0;
  if (const auto given_one = given(in, attention))
    model.has_attention_dropout = given_one->number(0) > 0;
}

void finish_gpt2(const JsonInput& in, Transformer& model) {
  read_dropout(in, model, "resid_pdrop", "attn_pdrop");
  if (!given(in, "n_inner")) model.ffn = 4 * model.hidden;
}

void finish_gpt_neox(const JsonInput& in, Transformer& model) {
  model.is_parallel = flag_in(in, "use_parallel_residual", true);
  read_attention_bias(in, model, true);
}

void finish_opt(const JsonInput& in, Transformer& model) {
  read_dropout(in, model, "dropout", "attention_dropout");
  model.positions += 2;  // OPTLearnedPositionalEmbedding's offset
  const auto width = given(in, "word_embed_proj_dim");
  if (width && width->integer(1) != model.hidden)
    width->fail("must be the hidden size " + std::to_string(model.hidden));
  model.final_norm = flag_in(in, "do_layer_norm_before", true);
}

// MosaicML's has no bias anywhere unless it says so.
void finish_mpt(const JsonInput& in, Transformer& model) {
  const bool has_bias = !flag_in(in, "no_bias", true);
  model.qkv_bias = model.projection_bias = model.ffn_bias = model.norm_bias = has_bias;
  model.ffn = model.hidden * size_in(in, "expansion_ratio", 4);
  const auto attention = given(in, "attn_config");
  const bool has_alibi = attention && flag_in(*attention, "alibi", false);
  model.positions = has_alibi ? 0 : size_in(in, "max_seq_len", 2048);
  model.sets_positions = true;
}

const bool kGptRegistered = [] {
  Registry<TransformerFamily>::add({.name = "gpt2",
                                    .source = "transformers, configuration_gpt2.py",
                                    .names = {.layers = "n_layer",
                                              .hidden = "n_embd",
                                              .heads = "n_head",
                                              .ffn = "n_inner",
                                              .positions = "n_positions"},
                                    .defaults = gpt({.layers = 12,
                                                     .hidden = 768,
                                                     .heads = 12,
                                                     .ffn = 3072,
                                                     .vocabulary = 50257,
                                                     .positions = 1024,
                                                     .is_tied = true,
                                                     .has_dropout = true,
                                                     .has_attention_dropout = true}),
                                    .finish = finish_gpt2});
  Transformer neox =
      gpt({.layers = 44, .hidden = 6144, .heads = 64, .ffn = 24576, .vocabulary = 50432});
  neox.has_rotary = true;
  Registry<TransformerFamily>::add({.name = "gpt_neox",
                                    .source = "transformers, configuration_gpt_neox.py",
                                    .defaults = neox,
                                    .finish = finish_gpt_neox});
  Transformer opt = gpt({.layers = 12,
                         .hidden = 768,
                         .heads = 12,
                         .ffn = 3072,
                         .vocabulary = 50272,
                         .positions = 2048,
                         .is_tied = true,
                         .has_dropout = true});
  opt.activation = "ReLU";
  Registry<TransformerFamily>::add({.name = "opt",
                                    .source = "transformers, configuration_opt.py",
                                    .names = {.ffn = "ffn_dim"},
                                    .defaults = opt,
                                    .finish = finish_opt});
  Registry<TransformerFamily>::add(
      {.name = "bloom",
       .source = "transformers, configuration_bloom.py",
       .names = {.layers = "n_layer", .hidden = "n_embed", .heads = "n_head"},
       .defaults = gpt({.layers = 2,
                        .hidden = 64,
                        .heads = 8,
                        .ffn = 256,
                        .vocabulary = 250880,
                        .is_tied = true,
                        .embedding_norm = true}),
       .finish = [](const JsonInput&, Transformer& model) { model.ffn = 4 * model.hidden; }});
  Registry<TransformerFamily>::add(
      {.name = "mpt",
       .source = "transformers, configuration_mpt.py; llm-foundry, scripts/train/yamls/pretrain",
       .names = {.layers = "n_layers", .hidden = "d_model", .heads = "n_heads", .ffn = "ffn"},
       .defaults = gpt({.layers = 24,
                        .hidden = 2048,
                        .heads = 16,
                        .ffn = 8192,
                        .vocabulary = 50368,
                        .is_tied = true}),
       .finish = finish_mpt});
  // The square of ReLU as activation; no gate, no bias but the norms'.
  Registry<TransformerFamily>::add({.name = "nemotron",
                                    .source = "transformers, configuration_nemotron.py",
                                    .defaults = {.layers = 32,
                                                 .hidden = 6144,
                                                 .heads = 48,
                                                 .ffn = 24576,
                                                 .vocabulary = 256000,
                                                 .activation = "ReLU",
                                                 .is_gated = false,
                                                 .has_rms_norm = false}});
  return true;
}();

}  // namespace
}  // namespace forescale
