// A decoder-only transformer by its dimensions, whatever file names them.
//
// Source: Hugging Face transformers, models/*/configuration_*.py and modeling_*.py (v4.57), as
// facts. Limits: no encoder, no cross attention; sliding windows are noted but cost what full
// attention does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json_input.hpp"

namespace forescale {

// Of layers whose feed-forward part is a choice of experts. Widths in values.
struct ExpertShape {
  std::int64_t count = 0;
  std::int64_t per_token = 0;    // of them, that each token goes to
  std::int64_t ffn = 0;          // width of one
  std::int64_t shared_ffn = 0;   // of those that every token goes to, together; 0: none
  std::int64_t dense_first = 0;  // layers with an ordinary feed-forward part before the others
  bool has_bias = false;         // of the experts' products
  bool router_bias = false;
};

// Multi-head latent attention: queries, keys and values come out of narrow vectors.
// Source: DeepSeek-V2, arXiv:2405.04434, section 2.1.
struct LatentShape {
  std::int64_t query_rank = 0;  // 0: queries come straight from the hidden vector
  std::int64_t kv_rank = 0;
  std::int64_t rotary = 0;  // values of a query or key with a position, shared by all heads' keys
  std::int64_t plain = 0;   // and without
  std::int64_t value = 0;   // of a head's value vector
};

struct Transformer {
  std::string name = {};
  std::string family = {};  // Hugging Face's model_type
  std::string source = {};
  std::string file = {};  // for errors
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t ffn = 0;  // width of the ordinary feed-forward part
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;     // learned vectors; 0: none (rotary, ALiBi)
  bool sets_positions = false;    // to the tokens of its training (llm-foundry's max_seq_len)
  std::int64_t sequence = 0;      // tokens it is trained on; 0: the file does not say
  std::int64_t sequence_max = 0;  // tokens that it is made for; 0: not said
  std::string activation = "SiLU";
  bool is_gated = true;  // act(gate) * up
  bool has_rms_norm = true;
  bool norm_bias = true;  // of a LayerNorm
  bool has_rotary = true;
  bool is_tied = false;  // the output's weights are the embedding's
  bool qkv_bias = false;
  bool projection_bias = false;  // of attention's output
  bool ffn_bias = false;
  bool embedding_norm = false;  // BLOOM
  bool final_norm = true;
  bool is_parallel = false;     // attention and feed-forward side by side: GPT-NeoX, Falcon
  bool query_key_norm = false;  // a norm of each head's queries and keys
  bool output_norms = false;    // also after attention and feed-forward: Gemma 2
  bool has_sinks = false;       // a learned number a head: gpt-oss
  // In training: of what attention and feed-forward add, and of attention's probabilities.
  bool has_dropout = false;
  bool has_attention_dropout = false;
  std::optional<ExpertShape> experts = {};
  std::optional<LatentShape> latent = {};
  std::optional<std::int64_t> published_parameters = {};
  std::string published_source = {};

  bool is_sparse(std::int64_t layer) const { return experts && layer >= experts->dense_first; }
};

// Whether it is one: it names its "model_type".
bool is_transformer(const JsonInput& in);

// A Hugging Face config.json: keys that a family's file may leave out take the family's defaults,
// others are not looked at. "sequence" and "published" are the catalogue's own. InputError naming
// file, path and constraint for an unknown model_type, a missing key or sizes that do not fit.
Transformer read_transformer(const JsonInput& in);

}  // namespace forescale
