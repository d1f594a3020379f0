#include "models/workload/transformer/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr const char* kCore = "core_attention";
constexpr const char* kQkv = "linear_qkv";
constexpr const char* kProjection = "linear_proj";
constexpr const char* kUp = "linear_fc1";
constexpr const char* kDown = "linear_fc2";

class Decoder {
 public:
  Decoder(const Transformer& model, const DecoderShare& share)
      : model_(model),
        share_(share),
        shares_tokens_(share.tensor > 1 && share.has_sequence_parallel),
        kv_heads_(std::max<std::int64_t>(1, model.kv_heads / share.tensor)) {}

  std::vector<LayerSpec> layers() && {
    add("data", "Data", {});
    layers_.back().tops = {"data", "label"};
    std::string hidden = share_.has_embedding ? embedding() : from_stage_before();
    const std::int64_t end = share_.layers < 0 ? model_.layers : share_.first_layer + share_.layers;
    for (std::int64_t layer = share_.first_layer; layer < end; ++layer) {
      prefix_ = fmt::format("layer{}/", layer + 1);
      hidden = block(hidden, model_.is_sparse(layer));
    }
    prefix_.clear();
    share_.has_head ? head(hidden) : to_stage_after(hidden);
    if (share_.adapters.rank > 0)
      for (LayerSpec& layer : layers_) layer.frozen = !layer.adapter;
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

  std::string narrow(const std::string& name, const std::string& bottom, std::int64_t outputs) {
    std::string made = linear(name, bottom, outputs, false);
    layers_.back().adapter = true;
    return made;
  }

  bool has_adapter(const char* target) const {
    return share_.adapters.rank > 0 && share_.adapters.targets.contains(target);
  }
  std::string with_adapter(const std::string& name, const std::string& product,
                           const std::string& low, std::int64_t outputs) {
    return add(name + "/lora_sum", "Eltwise", {product, narrow(name + "/lora_b", low, outputs)});
  }

  // A product whose weights are shared by output, with its adapter.
  std::string adapted(const char* target, const std::string& name, const std::string& bottom,
                      std::int64_t outputs, bool has_bias) {
    std::string product = linear(name, bottom, outputs, has_bias);
    if (!has_adapter(target)) return product;
    return with_adapter(name, product, narrow(name + "/lora_a", bottom, share_.adapters.rank),
                        outputs);
  }
  // One whose weights are shared by input: `collected` is what adds up its results.
  std::string adapted_and_collected(const char* target, const std::string& name,
                                    const std::string& bottom, bool has_bias,
                                    const std::string& collected) {
    std::string product = collect(collected, linear(name, bottom, model_.hidden, has_bias));
    if (!has_adapter(target)) return product;
    const std::string low = narrow(name + "/lora_a", bottom, share_.adapters.rank);
    return with_adapter(name, product, collect(name + "/lora_collect", low), model_.hidden);
  }

  std::string norm(const std::string& name, const std::string& bottom) {
    add(name, model_.has_rms_norm ? "RMSNorm" : "LayerNorm", {bottom});
    layers_.back().bias_term = model_.norm_bias || model_.has_rms_norm;
    return layers_.back().name;
  }

  // An exchange with those that share the layer's weights.
  std::string exchange(const char* type, const std::string& name, const std::string& bottom,
                       const char* group = "tensor") {
    const bool is_tensor = std::string(group) == "tensor";
    add(name, type, {bottom});
    layers_.back().sizes = {{"ranks", is_tensor ? share_.tensor : share_.expert}};
    layers_.back().flags = {group};
    // Frozen products do not want it again, and adapters keep it (ParallelLinearAdapter).
    if (std::string(type) == "AllGather" && share_.adapters.rank == 0)
      layers_.back().flags.insert("again");
    return layers_.back().name;
  }

  // Before products whose weights are shared by output, and after those that are shared by input.
  std::string spread(const std::string& name, const std::string& bottom) {
    if (share_.tensor == 1) return bottom;
    return exchange(shares_tokens_ ? "AllGather" : "CopyToGroup", name, bottom);
  }
  std::string collect(const std::string& name, const std::string& bottom) {
    if (share_.tensor == 1) return bottom;
    return exchange(shares_tokens_ ? "ReduceScatter" : "ReduceFromGroup", name, bottom);
  }

  // What arrives from another stage, and what leaves for one, takes no work here.
  std::string from_stage_before() {
    add("received", "Received", {"data"});
    layers_.back().num_output = model_.hidden;
    if (shares_tokens_) layers_.back().sizes = {{"ranks", share_.tensor}};
    return layers_.back().name;
  }
  void to_stage_after(const std::string& hidden) { add("sent", "Sent", {hidden, "label"}); }

  std::string embedding() {
    std::string hidden = look_up("embedding/word", shared_words());
    hidden = collect("embedding/collect", hidden);
    if (model_.positions > 0)
      hidden = add("embedding/sum", "Eltwise",
                   {hidden, look_up("embedding/position", model_.positions, shares_tokens_)});
    if (model_.embedding_norm) hidden = norm("embedding/norm", hidden);
    return hidden;
  }

  // Words are padded to a multiple of the GPUs.
  std::int64_t shared_words() const {
    return (model_.vocabulary + share_.tensor - 1) / share_.tensor;
  }

  std::string look_up(const std::string& name, std::int64_t count, bool of_own_tokens = false) {
    add(name, "Embedding", {"data"});
    layers_.back().num_output = model_.hidden;
    layers_.back().sizes = {{"vocabulary", count}};
    if (of_own_tokens) layers_.back().sizes["ranks"] = share_.tensor;
    return layers_.back().name;
  }

  std::string block(const std::string& hidden, bool is_sparse) {
    const std::string normed = spread("attention/spread", norm("attention/norm", hidden));
    std::string attended = model_.latent ? latent_attention(normed) : attention(normed);
    if (model_.output_norms) attended = norm("attention/norm2", attended);
    if (model_.is_parallel) {
      const std::string fed = feed_forward(norm("ffn/norm", hidden), is_sparse);
      return residual("sum", {hidden, attended, fed});
    }
    const std::string middle = residual("attention/sum", {hidden, attended});
    std::string fed = feed_forward(norm("ffn/norm", middle), is_sparse);
    if (model_.output_norms) fed = norm("ffn/norm2", fed);
    return residual("ffn/sum", {middle, fed});
  }

  std::string residual(const char* name, Names blobs) {
    add(name, "Eltwise", std::move(blobs));
    if (model_.has_dropout) layers_.back().flags = {"dropout"};
    return layers_.back().name;
  }

  std::string attention(const std::string& normed) {
    const std::int64_t heads = model_.heads / share_.tensor;
    const std::int64_t width = (heads + 2 * kv_heads_) * model_.head_size;
    const std::string qkv = adapted(kQkv, "qkv", normed, width, model_.qkv_bias);
    std::string turned = qkv;
    if (model_.query_key_norm) {
      turned = add("head_norm", "HeadNorm", {turned});
      layers_.back().sizes = {{"head_size", model_.head_size}};
    }
    if (model_.has_rotary) in_place("rotary", "Rotary", turned);
    const std::map<std::string, std::int64_t> sizes{{"heads", heads}, {"kv_heads", kv_heads_}};
    if (share_.has_scores_in_memory) return projection(attention_of_scores(turned, sizes));
    turned = to_context(turned, 2 * kv_heads_ * model_.head_size);
    const std::string attended = add(kCore, "Attention", {turned});
    layers_.back().sizes = sizes;
    in_context();
    if (model_.has_sinks) layers_.back().flags.insert("sinks");
    return projection(from_context(attended));
  }

  // Before and after attention, where other GPUs have the sequence's other tokens.
  std::string to_context(const std::string& blob, std::int64_t width) {
    if (share_.context == 1) return blob;
    if (share_.sends_heads) return across_context("attention/heads", blob);
    add("attention/keys", "KeysToAll", {blob});
    layers_.back().sizes = {{"ranks", share_.context}, {"width", width}};
    layers_.back().flags = {"context"};
    return layers_.back().name;
  }
  std::string from_context(const std::string& blob) {
    return share_.context > 1 && share_.sends_heads ? across_context("attention/tokens", blob)
                                                    : blob;
  }
  std::string across_context(const std::string& name, const std::string& blob) {
    add(name, "AllToAll", {blob});
    layers_.back().sizes = {{"ranks", share_.context}};
    layers_.back().flags = {"context"};
    return layers_.back().name;
  }

  std::string attention_of_scores(const std::string& qkv,
                                  const std::map<std::string, std::int64_t>& sizes) {
    const auto part = [](const char* name) { return fmt::format("{}/{}", kCore, name); };
    const std::string scores = add(part("scores"), "AttentionScores", {qkv});
    layers_.back().sizes = sizes;
    std::string probabilities = add(part("softmax"), "AttentionSoftmax", {scores});
    if (model_.has_attention_dropout)
      probabilities = add(part("dropout"), "Dropout", {probabilities});
    add(part("mix"), "AttentionMix", {probabilities, qkv});
    layers_.back().sizes = sizes;
    return layers_.back().name;
  }

  void in_context() {
    layers_.back().flags.insert("causal");
    if (share_.context > 1) layers_.back().sizes["parts"] = share_.context;
    if (share_.texts > 1) layers_.back().sizes["texts"] = share_.texts;
  }

  std::string projection(const std::string& attended) {
    return adapted_and_collected(kProjection, "projection", attended, model_.projection_bias,
                                 "attention/collect");
  }

  std::string latent_attention(const std::string& normed) {
    const LatentShape& latent = *model_.latent;
    std::string narrow = normed;
    if (latent.query_rank > 0)
      narrow = norm("query/norm", linear("query/down", normed, latent.query_rank, model_.qkv_bias));
    const std::int64_t heads = model_.heads / share_.tensor;
    const std::string query =
        linear("query/up", narrow, heads * model_.head_size, model_.qkv_bias && narrow == normed);
    const std::string kv =
        linear("kv/up", norm("kv/norm", linear("kv/down", normed, latent.kv_rank, model_.qkv_bias)),
               heads * (latent.plain + latent.value), false);
    const std::string key = linear("key/rotary", normed, latent.rotary, model_.qkv_bias);
    in_place("rotary", "Rotary", query);
    const std::string everywhere =
        to_context(kv, heads * (latent.plain + latent.rotary + latent.value));
    const std::string attended = add(kCore, "LatentAttention", {query, everywhere, key});
    layers_.back().sizes = {{"heads", heads}, {"value_size", latent.value}};
    in_context();
    return projection(attended);
  }

  std::string feed_forward(const std::string& normed, bool is_sparse) {
    if (!is_sparse) return dense("ffn", normed, model_.ffn);
    const ExpertShape& experts = *model_.experts;
    const bool gathers = share_.expert_tensor > 1;
    const std::string whole = gathers ? spread("experts/spread", normed) : normed;
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
      return sized("experts", experts.count / share_.expert);
    };
    const auto across = [&](const char* name, const std::string& bottom, bool is_back) {
      if (share_.expert == 1) return bottom;
      exchange("AllToAll", name, bottom, "expert");
      layers_.back().sizes["permille"] = share_.expert_permille;
      if (is_back) layers_.back().flags.insert("back");
      if (share_.sends_once) layers_.back().flags.insert("once");
      return layers_.back().name;
    };
    add("dispatch", "Dispatch", {whole, logits});
    const std::string sent = across("experts/there", sized("per_token", experts.per_token), false);
    const std::string up =
        grouped("experts/up", sent, (model_.is_gated ? 2 : 1) * experts.ffn / share_.expert_tensor);
    const std::string down =
        across("experts/back",
               grouped("experts/down", activated("experts/activation", up), model_.hidden), true);
    add("combine", "Combine", {down});
    std::string combined = sized("per_token", experts.per_token);
    if (gathers) combined = collect("experts/collect", combined);
    if (experts.shared_ffn == 0) return combined;
    const std::string shared = dense("shared", normed, experts.shared_ffn);
    return add("experts/sum", "Eltwise", {combined, shared});
  }

  std::string dense(const std::string& name, const std::string& normed, std::int64_t width) {
    const std::string up =
        adapted(kUp, name + "/up", spread(name + "/spread", normed),
                (model_.is_gated ? 2 : 1) * width / share_.tensor, model_.ffn_bias);
    return adapted_and_collected(kDown, name + "/down", activated(name + "/activation", up),
                                 model_.ffn_bias, name + "/collect");
  }

  std::string activated(const std::string& name, const std::string& bottom) {
    if (model_.is_gated)
      return add(name, model_.activation == "GELU" ? "GEGLU" : "SwiGLU", {bottom});
    return add(name, model_.activation, {bottom});
  }

  void head(const std::string& hidden) {
    const std::string last = model_.final_norm ? norm("norm", hidden) : hidden;
    const std::string logits = linear("head", spread("head/spread", last), shared_words(), false);
    if (model_.is_tied && share_.has_embedding) layers_.back().flags = {"tied"};
    add("loss", "SoftmaxWithLoss", {logits, "label"});
  }

  const Transformer& model_;
  const DecoderShare& share_;
  bool shares_tokens_;
  std::int64_t kv_heads_;
  std::string prefix_;
  std::vector<LayerSpec> layers_;
};

// Both numbers of a share that does not come out even.
void check(const Transformer& model, std::int64_t tokens, const std::string& option,
           const DecoderShare& share) {
  const auto divides = [&](const char* name, std::int64_t degree, const char* what,
                           std::int64_t number) {
    if (degree < 1 || number % degree != 0)
      refuse(option, fmt::format("{}={}", name, degree),
             fmt::format("must divide the {} {} ({})", number, what, model.file));
  };
  divides("tp", share.tensor, "heads", model.heads);
  if (model.kv_heads > share.tensor) divides("tp", share.tensor, "key-value heads", model.kv_heads);
  divides("tp", share.tensor, "values of the feed-forward part", model.ffn);
  divides("cp", 2 * share.context, "tokens, in two parts for each GPU,",
          share.context > 1 ? tokens : 2);
  if (share.tensor > 1 && share.has_sequence_parallel)
    divides("tp", share.tensor, "tokens of a GPU", tokens / share.context);
  const std::int64_t experts = model.experts ? model.experts->count : 1;
  divides("ep", share.expert, "experts", experts);
  if (model.experts) divides("etp", share.expert_tensor, "values of an expert", model.experts->ffn);
  if (model.experts && share.tensor > 1 && !share.has_sequence_parallel)
    refuse(option, fmt::format("tp={},sp=false", share.tensor),
           "experts need sp=true where tp > 1, as in Megatron-LM");
  if (model.experts && share.expert_tensor != 1 && share.expert_tensor != share.tensor)
    refuse(option, fmt::format("etp={}", share.expert_tensor),
           fmt::format("must be 1 or tp, {}", share.tensor));
  if (share.context > 1 && share.sends_heads) {
    divides("cp", share.context, "heads of a GPU", model.heads / share.tensor);
    divides("cp", share.context, "key-value heads of a GPU",
            std::max<std::int64_t>(1, model.kv_heads / share.tensor));
    if (model.latent) refuse(option, model.name, "latent attention has no heads to send: not a2a");
  }
  check_adapters(model, share.adapters, option);
  if (share.has_scores_in_memory && (share.context > 1 || model.latent))
    refuse(option, share.context > 1 ? fmt::format("cp={}", share.context) : model.name,
           "needs flash attention");
  if (share.texts > 1 && (share.context > 1 || share.has_scores_in_memory))
    refuse(option, fmt::format("packed={}", share.texts),
           share.context > 1 ? fmt::format("is not known with cp={}", share.context)
                             : "needs flash attention");
}

}  // namespace

void check_adapters(const Transformer& model, const Adapters& adapters, const std::string& option) {
  const auto refuse_rank = [&](const std::string& constraint) {
    throw InputError({.source = option,
                      .path = "",
                      .value = fmt::format("lora={}", adapters.rank),
                      .constraint = constraint});
  };
  if (adapters.rank > 0 && (model.latent || model.experts))
    refuse_rank(fmt::format("is known of models without experts and latent attention, not of {}",
                            model.name));
  if (adapters.rank >= model.hidden)
    refuse_rank(fmt::format("must be below the hidden size of {}, {}", model.name, model.hidden));
}

std::vector<std::string> adapter_targets() { return {kQkv, kProjection, kUp, kDown}; }

std::string core_attention_beside(const std::string& layer) {
  return layer.substr(0, layer.find('/') + 1) + kCore;
}

Architecture decoder(const Transformer& model, std::int64_t tokens, const std::string& option,
                     const DecoderShare& share) {
  const auto refuse = [&](const std::string& constraint) {
    throw InputError({.source = option,
                      .path = "",
                      .value = std::to_string(tokens),
                      .constraint = fmt::format("{} ({})", constraint, model.file)});
  };
  if (tokens < 1)
    refuse(
        "must be the tokens of a sequence in training: what the model was made for does not say");
  if (model.positions > 0 && tokens > model.positions && !model.sets_positions)
    refuse(fmt::format("must be <= {}, the positions that the model has learned", model.positions));
  check(model, tokens, option, share);
  Transformer trained = model;
  if (model.positions > 0 && model.sets_positions) trained.positions = tokens;
  return {.name = model.name,
          .source = model.source,
          .file = model.file,
          .input_shape = {tokens / share.context},
          .published_parameters = model.published_parameters,
          .published_parameters_main = {},
          .published_source = model.published_source,
          .layers = Decoder(trained, share).layers()};
}

}  // namespace forescale
