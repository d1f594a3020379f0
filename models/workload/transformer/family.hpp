// A family of transformers: what one "model_type" of Hugging Face's config.json means. An entry of
// Registry<TransformerFamily>, a file in families/ for those that are alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json_input.hpp"
#include "base/registry.hpp"
#include "models/workload/transformer/transformer.hpp"

namespace forescale {

// What the family's files call its sizes, beside these common names.
struct SizeNames {
  const char* layers = "num_hidden_layers";
  const char* hidden = "hidden_size";
  const char* heads = "num_attention_heads";
  const char* ffn = "intermediate_size";
  const char* positions = "max_position_embeddings";
};

struct TransformerFamily {
  std::string name;  // the model_type
  std::string source;
  SizeNames names = {};
  // Of the family's configuration class: what a file may leave out. kv_heads 0: as many as heads.
  Transformer defaults = {};
  // What is the family's own, once the sizes above are there; may be null. Throws InputError.
  void (*finish)(const JsonInput& in, Transformer& model) = nullptr;
};

// A key that is there and not null.
std::optional<JsonInput> given(const JsonInput& in, const std::string& key);
// From 1: what the file says, else the fallback; InputError where that is 0.
std::int64_t size_in(const JsonInput& in, const std::string& key, std::int64_t fallback = 0);
// From 0; the fallback where the file says nothing or null.
std::int64_t count_in(const JsonInput& in, const std::string& key, std::int64_t fallback = 0);
bool flag_in(const JsonInput& in, const std::string& key, bool fallback);

// Into model.experts, whose numbers are the defaults. InputError for more experts a token than
// there are.
void read_experts(const JsonInput& in, Transformer& model, const char* count, const char* ffn);

// "attention_bias" of all four products of attention.
void read_attention_bias(const JsonInput& in, Transformer& model, bool fallback);

}  // namespace forescale
