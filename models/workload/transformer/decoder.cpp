#include "models/workload/transformer/decoder.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"

namespace forescale {
namespace {

class Decoder {
 public:
  explicit Decoder(const Transformer& model) : model_(model) {}

  std::vector<LayerSpec> layers() && {
    std::string hidden = embedding();
    for (std::int64_t layer = 0; layer < model_.layers; ++layer) {
      prefix_ = fmt::format("layer{}/", layer + 1);
      hidden = block(hidden, model_.is_sparse(layer));
    }
    prefix_.clear();
    head(hidden);
    return std::move(layers_);
  }

 private:
  using Names = std::vector<std::string>;

  // Appends a layer of one top; its name.
  std::string add(const std::string& name, const std::string& type, Names bottoms) {
    LayerSpec layer;
    layer.name = prefix_ + name;
    layer.type = type;
    layer.bottoms = std::move(bottoms);
    layer.tops = {layer.name};
    layer.path = fmt::format("/layers/{}", layers_.size());
    layers_.push_back(std::move(layer));
    return layers_.back().name;
  }

  std::string in_place(const std::string& name, const std::string& type, const std::string& blob) {
    add(name, type, {blob});
    layers_.back().tops = {blob};
    return blob;
  }

  std::string linear(const std::string& name, const std::string& bottom, std::int64_t outputs,
                     bool has_bias) {
    add(name, "Linear", {bottom});
    layers_.back().num_output = outputs;
    layers_.back().bias_term = has_bias;
    return layers_.back().name;
  }

  std::string norm(const std::string& name, const std::string& bottom) {
    add(name, model_.has_rms_norm ? "RMSNorm" : "LayerNorm", {bottom});
    layers_.back().bias_term = model_.norm_bias || model_.has_rms_norm;
    return layers_.back().name;
  }

  std::string embedding() {
    add("data", "Data", {});
    layers_.back().tops = {"data", "label"};
    std::string hidden = look_up("embedding/word", model_.vocabulary);
    if (model_.positions > 0)
      hidden = add("embedding/sum", "Eltwise",
                   {hidden, look_up("embedding/position", model_.positions)});
    if (model_.embedding_norm) hidden = norm("embedding/norm", hidden);
    return hidden;
  }

  std::string look_up(const std::string& name, std::int64_t count) {
    add(name, "Embedding", {"data"});
    layers_.back().num_output = model_.hidden;
    layers_.back().sizes = {{"vocabulary", count}};
    return layers_.back().name;
  }

  std::string block(const std::string& hidden, bool is_sparse) {
    std::string normed = norm("attention/norm", hidden);
    std::string attended = model_.latent ? latent_attention(normed) : attention(normed);
    if (model_.output_norms) attended = norm("attention/norm2", attended);
    if (model_.is_parallel) {
      const std::string fed = feed_forward(norm("ffn/norm", hidden), is_sparse);
      return add("sum", "Eltwise", {hidden, attended, fed});
    }
    const std::string middle = add("attention/sum", "Eltwise", {hidden, attended});
    std::string fed = feed_forward(norm("ffn/norm", middle), is_sparse);
    if (model_.output_norms) fed = norm("ffn/norm2", fed);
    return add("ffn/sum", "Eltwise", {middle, fed});
  }

  std::string attention(const std::string& normed) {
    const std::int64_t width = (model_.heads + 2 * model_.kv_heads) * model_.head_size;
    const std::string qkv = linear("qkv", normed, width, model_.qkv_bias);
    std::string turned = qkv;
    if (model_.query_key_norm) {
      turned = add("head_norm", "HeadNorm", {turned});
      layers_.back().sizes = {{"head_size", model_.head_size}};
    }
    if (model_.has_rotary) in_place("rotary", "Rotary", turned);
    const std::string attended = add("attention", "Attention", {turned});
    layers_.back().sizes = {{"heads", model_.heads}, {"kv_heads", model_.kv_heads}};
    layers_.back().flags = {"causal"};
    if (model_.has_sinks) layers_.back().flags.insert("sinks");
    return linear("projection", attended, model_.hidden, model_.projection_bias);
  }

  std::string latent_attention(const std::string& normed) {
    const LatentShape& latent = *model_.latent;
    std::string narrow = normed;
    if (latent.query_rank > 0)
      narrow = norm("query/norm", linear("query/down", normed, latent.query_rank, model_.qkv_bias));
    const std::string query = linear("query/up", narrow, model_.heads * model_.head_size,
                                     model_.qkv_bias && narrow == normed);
    const std::string kv =
        linear("kv/up", norm("kv/norm", linear("kv/down", normed, latent.kv_rank, model_.qkv_bias)),
               model_.heads * (latent.plain + latent.value), false);
    const std::string key = linear("key/rotary", normed, latent.rotary, model_.qkv_bias);
    in_place("rotary", "Rotary", query);
    const std::string attended = add("attention", "LatentAttention", {query, kv, key});
    layers_.back().sizes = {{"heads", model_.heads}, {"value_size", latent.value}};
    layers_.back().flags = {"causal"};
    return linear("projection", attended, model_.hidden, model_.projection_bias);
  }

  std::string feed_forward(const std::string& normed, bool is_sparse) {
    if (!is_sparse) return dense("ffn", normed, model_.ffn);
    const ExpertShape& experts = *model_.experts;
    const std::string logits = linear("router", normed, experts.count, experts.router_bias);
    const auto sized = [this](const char* key, std::int64_t value) {
      layers_.back().sizes = {{key, value}};
      return layers_.back().name;
    };
    const auto grouped = [&](const std::string& name, const std::string& bottom,
                             std::int64_t outputs) {
      add(name, "GroupedLinear", {bottom});
      layers_.back().num_output = outputs;
      layers_.back().bias_term = experts.has_bias;
      return sized("experts", experts.count);
    };
    add("dispatch", "Dispatch", {normed, logits});
    const std::string sent = sized("per_token", experts.per_token);
    const std::string up = grouped("experts/up", sent, (model_.is_gated ? 2 : 1) * experts.ffn);
    const std::string down =
        grouped("experts/down", activated("experts/activation", up), model_.hidden);
    add("combine", "Combine", {down});
    std::string combined = sized("per_token", experts.per_token);
    if (experts.shared_ffn == 0) return combined;
    const std::string shared = dense("shared", normed, experts.shared_ffn);
    return add("experts/sum", "Eltwise", {combined, shared});
  }

  std::string dense(const std::string& name, const std::string& normed, std::int64_t width) {
    const std::string up =
        linear(name + "/up", normed, (model_.is_gated ? 2 : 1) * width, model_.ffn_bias);
    return linear(name + "/down", activated(name + "/activation", up), model_.hidden,
                  model_.ffn_bias);
  }

  std::string activated(const std::string& name, const std::string& bottom) {
    if (model_.is_gated)
      return add(name, model_.activation == "GELU" ? "GEGLU" : "SwiGLU", {bottom});
    return add(name, model_.activation, {bottom});
  }

  void head(const std::string& hidden) {
    const std::string last = model_.final_norm ? norm("norm", hidden) : hidden;
    const std::string logits = linear("head", last, model_.vocabulary, false);
    if (model_.is_tied) layers_.back().flags = {"tied"};
    add("loss", "SoftmaxWithLoss", {logits, "label"});
  }

  const Transformer& model_;
  std::string prefix_;
  std::vector<LayerSpec> layers_;
};

}  // namespace

Architecture decoder(const Transformer& model, std::int64_t tokens, const std::string& option) {
  const auto refuse = [&](const std::string& constraint) {
    throw InputError({.source = option,
                      .path = "",
                      .value = std::to_string(tokens),
                      .constraint = fmt::format("{} ({})", constraint, model.file)});
  };
  if (tokens < 1)
    refuse(
        "must be the tokens of a sequence in training: what the model was made for does not say");
  if (model.positions > 0 && tokens > model.positions)
    refuse(fmt::format("must be <= {}, the positions that the model has learned", model.positions));
  return {.name = model.name,
          .source = model.source,
          .file = model.file,
          .input_shape = {tokens},
          .published_parameters = model.published_parameters,
          .published_parameters_main = {},
          .published_source = model.published_source,
          .layers = Decoder(model).layers()};
}

}  // namespace forescale
