#include "models/workload/transformer/transformer.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/workload/transformer/family.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kSizeMax = 1'000'000'000;

void read_published(const JsonInput& in, Transformer& model) {
  const auto published = in.find("published");
  if (!published) return;
  published->allow_only({"parameters"});
  model.published_parameters = published->at("parameters").integer(1);
  model.published_source = published->at("source").string();
}

void read_head_size(const JsonInput& in, const SizeNames& names, Transformer& model) {
  if (const auto size = given(in, "head_dim")) model.head_size = size->integer(1, kSizeMax);
  if (model.head_size > 0) return;
  if (model.hidden % model.heads != 0)
    in.at(names.heads).fail(fmt::format("must divide {}, the hidden size", model.hidden));
  model.head_size = model.hidden / model.heads;
}

// DIR/config.json is DIR's.
std::string model_name(const std::filesystem::path& file) {
  const bool is_config = file.stem() == "config";
  return (is_config ? std::filesystem::absolute(file).parent_path().filename() : file.stem())
      .string();
}

// Under the family's own name or the common one.
std::int64_t named_size(const JsonInput& in, const char* own, const char* common,
                        std::int64_t fallback) {
  return size_in(in, given(in, own) ? own : common, fallback);
}

// Far more than any has; each is a list of operators.
constexpr std::int64_t kLayersMax = 10'000;

void check(const JsonInput& in, const Transformer& model, const SizeNames& names) {
  if (model.layers > kLayersMax)
    in.at(given(in, names.layers) ? names.layers : SizeNames().layers)
        .fail(fmt::format("must be <= {}", kLayersMax));
  if (model.heads % model.kv_heads != 0)
    in.at("num_key_value_heads")
        .fail(fmt::format("must divide {}, the heads ({})", model.heads, names.heads));
  if (model.experts && model.experts->dense_first > model.layers)
    in.at("first_k_dense_replace")
        .fail(fmt::format("must be <= {}, the layers ({})", model.layers, names.layers));
}

}  // namespace

std::optional<JsonInput> given(const JsonInput& in, const std::string& key) {
  auto value = in.find(key);
  if (value && value->raw().is_null()) value.reset();
  return value;
}

std::int64_t size_in(const JsonInput& in, const std::string& key, std::int64_t fallback) {
  if (const auto value = given(in, key)) return value->integer(1, kSizeMax);
  return fallback > 0 ? fallback : in.at(key).integer(1, kSizeMax);
}

std::int64_t count_in(const JsonInput& in, const std::string& key, std::int64_t fallback) {
  const auto value = given(in, key);
  return value ? value->integer(0, kSizeMax) : fallback;
}

bool flag_in(const JsonInput& in, const std::string& key, bool fallback) {
  const auto value = given(in, key);
  return value ? value->boolean() : fallback;
}

void read_experts(const JsonInput& in, Transformer& model, const char* count, const char* ffn) {
  ExpertShape& experts = *model.experts;
  experts.count = size_in(in, count, experts.count);
  experts.per_token = size_in(in, "num_experts_per_tok", experts.per_token);
  experts.ffn = size_in(in, ffn, experts.ffn);
  if (experts.per_token > experts.count)
    in.at("num_experts_per_tok")
        .fail(fmt::format("must be <= {}, the experts ({})", experts.count, count));
}

void read_attention_bias(const JsonInput& in, Transformer& model, bool fallback) {
  model.qkv_bias = model.projection_bias = flag_in(in, "attention_bias", fallback);
}

bool is_transformer(const JsonInput& in) { return in.is_object() && in.has("model_type"); }

Transformer read_transformer(const JsonInput& in) {
  const JsonInput type = in.at("model_type");
  const auto& all = Registry<TransformerFamily>::all();
  const auto found = all.find(type.string());
  if (found == all.end())
    type.fail("is " + unknown_name(type.string(), Registry<TransformerFamily>::names()));
  const TransformerFamily& family = found->second;
  const SizeNames& names = family.names;
  const SizeNames common;
  Transformer model = family.defaults;
  model.family = family.name;
  model.file = in.file();
  model.name = given(in, "name") ? in.at("name").string() : model_name(in.file());
  model.source = given(in, "source") ? in.at("source").string() : in.file();
  model.layers = named_size(in, names.layers, common.layers, model.layers);
  model.hidden = named_size(in, names.hidden, common.hidden, model.hidden);
  model.heads = named_size(in, names.heads, common.heads, model.heads);
  model.ffn = named_size(in, names.ffn, common.ffn, model.ffn);
  model.vocabulary = size_in(in, "vocab_size", model.vocabulary);
  model.kv_heads =
      size_in(in, "num_key_value_heads", model.kv_heads == 0 ? model.heads : model.kv_heads);
  if (model.positions > 0)
    model.positions = named_size(in, names.positions, common.positions, model.positions);
  model.sequence_max =
      count_in(in, given(in, names.positions) ? names.positions : common.positions);
  model.sequence = count_in(in, "sequence");
  read_head_size(in, names, model);
  model.is_tied = flag_in(in, "tie_word_embeddings", model.is_tied);
  if (family.finish != nullptr) family.finish(in, model);
  check(in, model, names);
  read_published(in, model);
  return model;
}

}  // namespace forescale
