#include "models/compute/transformer_framework.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/data_files.hpp"
#include "base/error.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kBucketMax = 1'000'000'000'000;

Unmodelled read_unmodelled(const JsonInput& in) {
  in.allow_only({"faster", "slower"});
  return {.faster = in.at("faster").factor(0, 0.9), .slower = in.at("slower").factor(0, 100)};
}

std::optional<Unmodelled> read_unmodelled_of(const JsonInput& in, const char* key) {
  const auto found = in.find(key);
  return found ? std::optional(read_unmodelled(*found)) : std::nullopt;
}

LayoutUnmodelled read_layout_unmodelled(const JsonInput& in) {
  in.allow_only({"one_stage", "pipeline", "experts", "tensor_over_nodes", "whole_gradients"});
  return {.experts = read_unmodelled_of(in, "experts"),
          .whole_gradients = read_unmodelled_of(in, "whole_gradients"),
          .tensor_over_nodes = read_unmodelled_of(in, "tensor_over_nodes"),
          .pipeline = read_unmodelled(in.at("pipeline")),
          .one_stage = read_unmodelled(in.at("one_stage"))};
}

FullMemory read_full_memory(const JsonInput& in) {
  in.allow_only({"from", "times"});
  const JsonInput times = in.at("times");
  return {.from = in.at("from").factor(0.1, 1),
          .times = times.factor(1, 100),
          .times_low = times.at("fast").number(1, 100),
          .times_high = times.at("slow").number(1, 100)};
}

TensorHiding read_tensor_hiding(const JsonInput& in) {
  const std::string which = in.one_of({"none", "gathers", "all"});
  if (which == "none") return TensorHiding::kNone;
  return which == "gathers" ? TensorHiding::kGathers : TensorHiding::kAll;
}

GradientBuckets read_buckets(const JsonInput& in) {
  in.allow_only(
      {"parameters", "parameters_a_rank", "first_stage_only", "gathers_ahead", "layers_from"});
  return {.parameters = in.at("parameters").integer(1, kBucketMax),
          .parameters_a_rank = in.at("parameters_a_rank").integer(0, kBucketMax),
          .first_stage_only = in.at("first_stage_only").boolean(),
          .gathers_ahead = in.at("gathers_ahead").boolean(),
          .gradients_by_layers =
              in.at("layers_from").one_of({"gradients", "parameters"}) == "gradients"};
}

}  // namespace

TransformerFramework transformer_framework(Framework framework, LayerCode code,
                                           const std::string& gpu, const std::string& option,
                                           Provenance* provenance) {
  const JsonInput in =
      JsonInput::from_file(data_path("models/compute/transformer_frameworks.json"), provenance);
  in.allow_only({"format", "from_measured", "frameworks"});
  in.at("format").one_of({"forescale-transformer-frameworks-1"});
  const JsonInput all = in.at("frameworks");
  const std::string name = to_text(framework);
  if (!all.has(name))
    refuse(option, name, fmt::format("has no transformers: {}", fmt::join(all.keys(), ", ")));
  const JsonInput own = all.at(name);
  const auto attention = own.find("attention");
  const auto as = own.find("as");
  const auto saves_other_products = own.find("saves_other_products");
  if (as)
    own.allow_only({"as", "attention", "others", "others_eager", "saves_other_products",
                    "tensor_hiding", "hybrid_sharding"});
  const JsonInput one = as ? all.at(as->string()) : own;
  const bool is_eager = code == LayerCode::kEager;
  const auto others = own.find(is_eager ? "others_eager" : "others");
  if (is_eager && !others)
    refuse(option, name, "is not known to run eagerly (compile=false of --layout)");
  one.allow_only({"kernels",
                  "others",
                  "others_eager",
                  "kernels_fp8",
                  "attention",
                  "score_bytes",
                  "gradient_buffer_bytes",
                  "gates_are_two_kernels",
                  "held_results",
                  "tensor_hiding",
                  "stops_recompute_early",
                  "hybrid_sharding",
                  "saves_other_products",
                  "memory",
                  "full_memory",
                  "host_layer_s",
                  "host_expert_layer_s",
                  "host_tensor_layer_s",
                  "host_pipeline_layer_s",
                  "buckets",
                  "unmodelled"});
  const bool has_gpu = attention && attention->has(gpu);
  const auto kernels_fp8 = one.find("kernels_fp8");
  const auto buffers = one.find("gradient_buffer_bytes");
  const JsonInput memory = one.at("memory");
  const auto gates = one.find("gates_are_two_kernels");
  const auto own_first = [&](const char* key) { return (own.has(key) ? own : one).find(key); };
  const auto tensor_hiding = own_first("tensor_hiding");
  const auto stops_early = one.find("stops_recompute_early");
  const auto hybrid_sharding = own_first("hybrid_sharding");
  const auto full_memory = one.find("full_memory");
  const auto held_results = one.find("held_results");
  const auto host_expert_layer = one.find("host_expert_layer_s");
  const auto host_tensor_layer = one.find("host_tensor_layer_s");
  const auto host_pipeline_layer = one.find("host_pipeline_layer_s");
  return {.kernels = one.at("kernels").factor(0.1, 10),
          .others = others ? others->factor(0.1, 100) : 1,
          .kernels_fp8 = (kernels_fp8 ? *kernels_fp8 : one.at("kernels")).factor(0.1, 10),
          .attention = has_gpu ? attention->at(gpu).factor(0.1, 10) : 1,
          .score_bytes = one.at("score_bytes").bytes().value,
          .gradient_buffer_bytes = buffers ? buffers->bytes().value : 0,
          .gates_are_two_kernels = gates && gates->at("value").boolean(),
          .held_results = held_results ? held_results->factor(0, 2) : 0,
          .tensor_hiding =
              tensor_hiding ? read_tensor_hiding(tensor_hiding->at("value")) : TensorHiding::kNone,
          .stops_recompute_early = stops_early && stops_early->at("value").boolean(),
          .has_hybrid_sharding = hybrid_sharding && hybrid_sharding->at("value").boolean(),
          .saves_other_products = saves_other_products
                                      ? std::optional(saves_other_products->at("value").boolean())
                                      : std::nullopt,
          .memory = memory.factor(0.5, 10),
          .memory_low = memory.at("fast").number(0.5, 10),
          .memory_high = memory.at("slow").number(1, 10),
          .full_memory = full_memory ? read_full_memory(*full_memory) : FullMemory(),
          .host_layer_s = one.at("host_layer_s").seconds().value,
          .host_expert_layer_s =
              (host_expert_layer ? *host_expert_layer : one.at("host_layer_s")).seconds().value,
          .host_tensor_layer_s = host_tensor_layer ? host_tensor_layer->seconds().value : 0,
          .host_pipeline_layer_s = host_pipeline_layer ? host_pipeline_layer->seconds().value : 0,
          .buckets = read_buckets(one.at("buckets")),
          .unmodelled = read_layout_unmodelled(one.at("unmodelled")),
          .from_measured = read_unmodelled(in.at("from_measured"))};
}

}  // namespace forescale
