#include "algorithms/layout/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "algorithms/layout/pipeline.hpp"
#include "base/error.hpp"
#include "models/workload/transformer/decoder.hpp"

namespace forescale {
namespace {

constexpr double kImbalanceMax = 1000;
constexpr std::int64_t kDegreeMax = 1 << 24;

std::vector<std::string> cut_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// What one field of the text may be.
struct FieldText {
  std::string option;
  std::string text;

  std::int64_t integer(std::int64_t min) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < min ||
        value > kDegreeMax)
      refuse(option, text, fmt::format("must be an integer from {} to {}", min, kDegreeMax));
    return value;
  }

  double number(double min, double max) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= min) || value > max)
      refuse(option, text, fmt::format("must be a number from {:g} to {:g}", min, max));
    return value;
  }

  bool flag() const {
    if (text == "true" || text == "1") return true;
    if (text != "false" && text != "0") refuse(option, text, "must be true or false");
    return false;
  }

  template <class Enum>
  Enum one_of(const std::vector<std::pair<const char*, Enum>>& names) const {
    std::vector<std::string> known;
    for (const auto& [name, value] : names) {
      if (text == name) return value;
      known.emplace_back(name);
    }
    refuse(option, text, unknown_name(text, known));
  }

  // With + between them.
  void some_of(const std::vector<std::string>& known) const {
    if (text.empty())
      refuse(option, text, fmt::format("is empty: name some of {}", fmt::join(known, ", ")));
    for (const std::string& word : cut_at(text, '+'))
      if (std::find(known.begin(), known.end(), word) == known.end())
        refuse(option, word, unknown_name(word, known));
  }
};

const std::vector<std::pair<const char*, StateSharding>>& sharding_names() {
  static const std::vector<std::pair<const char*, StateSharding>> names = {
      {"none", StateSharding::kNone},
      {"optimizer", StateSharding::kOptimizer},
      {"gradients", StateSharding::kGradients},
      {"parameters", StateSharding::kParameters},
      {"0", StateSharding::kNone},
      {"1", StateSharding::kOptimizer},
      {"2", StateSharding::kGradients},
      {"3", StateSharding::kParameters},
      {"no_shard", StateSharding::kNone},
      {"optim", StateSharding::kOptimizer},
      {"optim_grads", StateSharding::kGradients},
      {"optim_grads_params", StateSharding::kParameters}};
  return names;
}

const std::vector<std::pair<const char*, Recompute>>& recompute_names() {
  static const std::vector<std::pair<const char*, Recompute>> names = {
      {"none", Recompute::kNone},
      {"selective", Recompute::kSelective},
      {"selective_op", Recompute::kSelectiveOp},
      {"full", Recompute::kFull}};
  return names;
}

const std::vector<std::pair<const char*, ContextExchange>>& context_names() {
  static const std::vector<std::pair<const char*, ContextExchange>> names = {
      {"p2p", ContextExchange::kRing},
      {"all_gather", ContextExchange::kAllGather},
      {"a2a", ContextExchange::kAllToAll}};
  return names;
}

const std::vector<std::pair<const char*, Dispatcher>>& dispatcher_names() {
  static const std::vector<std::pair<const char*, Dispatcher>> names = {
      {"alltoall", Dispatcher::kAllToAll},
      {"deepep", Dispatcher::kDeepEp},
      {"hybridep", Dispatcher::kDeepEp},
      {"flex", Dispatcher::kDeepEp}};
  return names;
}

const std::vector<std::pair<const char*, AttentionKind>>& attention_names() {
  static const std::vector<std::pair<const char*, AttentionKind>> names = {
      {"flash", AttentionKind::kFlash},
      {"unfused", AttentionKind::kUnfused},
      {"fused", AttentionKind::kFlash},
      {"local", AttentionKind::kUnfused}};
  return names;
}

const std::vector<std::pair<const char*, std::int64_t>>& gradient_names() {
  static const std::vector<std::pair<const char*, std::int64_t>> names = {{"fp32", 4}, {"bf16", 2}};
  return names;
}

const std::vector<std::pair<const char*, std::int64_t>>& frozen_names() {
  static const std::vector<std::pair<const char*, std::int64_t>> names = {{"bf16", 2}, {"fp8", 1}};
  return names;
}

const std::vector<std::pair<const char*, LayerSplit>>& split_names() {
  static const std::vector<std::pair<const char*, LayerSplit>> names = {
      {"even", LayerSplit::kEven}, {"ends", LayerSplit::kEnds}, {"cost", LayerSplit::kCost}};
  return names;
}

template <class Enum>
const char* first_name(const std::vector<std::pair<const char*, Enum>>& names, Enum wanted) {
  for (const auto& [name, value] : names)
    if (value == wanted) return name;
  return "";
}

// A field with how its text is read and written.
struct FieldRule {
  LayoutField field;
  void (*read)(Layout& layout, const FieldText& text) = nullptr;
  std::string (*write)(const Layout& layout) = nullptr;
};

template <std::int64_t Layout::*kMember, std::int64_t kMin>
FieldRule number(const char* name, std::vector<std::string> aliases, const char* doc) {
  return {
      .field = {.name = name, .aliases = std::move(aliases), .doc = doc},
      .read = [](Layout& layout, const FieldText& text) { layout.*kMember = text.integer(kMin); },
      .write = [](const Layout& layout) { return std::to_string(layout.*kMember); }};
}

template <bool Layout::*kMember>
FieldRule flag(const char* name, std::vector<std::string> aliases, const char* doc) {
  return {.field = {.name = name, .aliases = std::move(aliases), .doc = doc},
          .read = [](Layout& layout, const FieldText& text) { layout.*kMember = text.flag(); },
          .write =
              [](const Layout& layout) { return std::string(layout.*kMember ? "true" : "false"); }};
}

template <std::string Layout::*kMember>
FieldRule word(const char* name, std::vector<std::string> aliases, const char* doc) {
  return {.field = {.name = name, .aliases = std::move(aliases), .doc = doc},
          .read = [](Layout& layout, const FieldText& text) { layout.*kMember = text.text; },
          .write = [](const Layout& layout) { return layout.*kMember; }};
}

const std::vector<FieldRule>& rules() {
  static const std::vector<FieldRule> all = {
      number<&Layout::tensor, 1>("tp", {"tensor_model_parallel_size"},
                                 "GPUs that share each layer's weights"),
      number<&Layout::context, 1>("cp", {"context_parallel_size"}, "GPUs that share each sequence"),
      {.field = {.name = "cp_comm",
                 .aliases = {"cp_comm_type"},
                 .doc = "how keys and values come to attention with cp > 1: p2p, a ring under it; "
                        "all_gather, before it; a2a, as whole heads (Ulysses)"},
       .read =
           [](Layout& layout, const FieldText& text) {
             layout.context_exchange = text.one_of(context_names());
           },
       .write = [](const Layout& layout) { return std::string(name_of(layout.context_exchange)); }},
      number<&Layout::pipeline, 1>("pp", {"pipeline_model_parallel_size"},
                                   "stages that the layers are cut into"),
      number<&Layout::data, 1>("dp", {"data_parallel_size"},
                               "copies of the model, each with its part of the batch; the GPUs "
                               "that are left"),
      number<&Layout::data_shard, 1>("dp_shard", {"data_parallel_shard_degree"},
                                     "copies that share what zero= divides, of which the others "
                                     "are replicas (hybrid sharding, HSDP); all"),
      number<&Layout::expert, 1>("ep", {"expert_model_parallel_size"},
                                 "GPUs that share each layer's experts"),
      number<&Layout::expert_tensor, 1>("etp", {"expert_tensor_parallel_size"},
                                        "GPUs that share each expert's weights; as tp"),
      {.field = {.name = "dispatcher",
                 .aliases = {"moe_token_dispatcher_type", "moe_flex_dispatcher_backend"},
                 .doc = "how tokens get to experts: alltoall, each copy to its GPU; deepep or "
                        "hybridep, once to each node"},
       .read = [](Layout& layout,
                  const FieldText& text) { layout.dispatcher = text.one_of(dispatcher_names()); },
       .write = [](const Layout& layout) { return std::string(name_of(layout.dispatcher)); }},
      flag<&Layout::expert_overlaps>(
          "expert_overlap", {"overlap_moe_expert_parallel_comm"},
          "tokens move to experts and back under another micro-batch's pass: true, false"),
      {.field = {.name = "imbalance",
                 .aliases = {},
                 .doc = "tokens of the GPU whose experts get most, over an equal share; 1"},
       .read = [](Layout& layout,
                  const FieldText& text) { layout.imbalance = text.number(1, kImbalanceMax); },
       .write = [](const Layout& layout) { return fmt::format("{}", layout.imbalance); }},
      number<&Layout::virtual_stages, 1>(
          "vpp", {"virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"},
          "stages of each pipeline rank"),
      number<&Layout::first_layers, 1>("first", {"decoder_first_pipeline_num_layers"},
                                       "layers of the first pipeline stage; an equal share"),
      number<&Layout::last_layers, 1>("last", {"decoder_last_pipeline_num_layers"},
                                      "layers of the last pipeline stage; an equal share"),
      {.field = {.name = "split",
                 .aliases = {},
                 .doc = "layers of pipeline stages: even; ends, which counts embedding and output "
                        "as one each; "
                        "cost, near equal weights (nanotron)"},
       .read = [](Layout& layout,
                  const FieldText& text) { layout.split = text.one_of(split_names()); },
       .write = [](const Layout& layout) { return std::string(name_of(layout.split)); }},
      flag<&Layout::has_sequence_parallel>(
          "sp", {"sequence_parallel"},
          "what lies between products is shared by token where tp > 1: true, false"),
      flag<&Layout::tensor_overlaps>(
          "tp_overlap", {"tp_comm_overlap"},
          "tp's exchanges go on under the products beside them: true, false"),
      {.field = {.name = "zero",
                 .aliases = {"data_parallel_sharding_strategy"},
                 .doc = "what each copy holds only a part of: none, optimizer (1), gradients (2), "
                        "parameters (3)"},
       .read = [](Layout& layout,
                  const FieldText& text) { layout.sharding = text.one_of(sharding_names()); },
       .write = [](const Layout& layout) { return std::string(name_of(layout.sharding)); }},
      {.field = {.name = "grads",
                 .aliases = {"grad_reduce_dtype"},
                 .doc = "in what gradients are added up and reduced: fp32, bf16"},
       .read = [](Layout& layout,
                  const FieldText& text) { layout.gradient_bytes = text.one_of(gradient_names()); },
       .write =
           [](const Layout& layout) {
             return std::string(first_name(gradient_names(), layout.gradient_bytes));
           }},
      flag<&Layout::overlaps>("overlap", {"overlap_grad_reduce", "overlap_param_gather"},
                              "gradients and parameters move under passes: true, false"),
      flag<&Layout::loss_in_place>(
          "loss_fusion", {"cross_entropy_loss_fusion"},
          "the loss's gradient takes the place of the words' scores (Transformer Engine's fused "
          "loss): true, false"),
      flag<&Layout::is_compiled>(
          "compile", {},
          "torch.compile fuses what lies between products; false: PyTorch runs it eagerly"),
      flag<&Layout::has_graphs>(
          "cuda_graphs", {"enable_cuda_graph"},
          "a CUDA graph has the iteration's kernels, and none waits for the CPU: true, false"),
      {.field = {.name = "attention",
                 .aliases = {"attention_backend"},
                 .doc = "how attention is computed: flash, or unfused, with its scores in memory"},
       .read = [](Layout& layout,
                  const FieldText& text) { layout.attention = text.one_of(attention_names()); },
       .write = [](const Layout& layout) { return std::string(name_of(layout.attention)); }},
      {.field =
           {.name = "recompute",
            .aliases = {"recompute_granularity"},
            .doc =
                "what the backward pass computes again: none, selective, selective_op (PyTorch's: "
                "all but attention and every second product), full"},
       .read = [](Layout& layout,
                  const FieldText& text) { layout.recompute = text.one_of(recompute_names()); },
       .write = [](const Layout& layout) { return std::string(name_of(layout.recompute)); }},
      word<&Layout::recompute_modules>(
          "recompute_modules", {},
          "what recompute=selective is for: core_attn, layernorm, mla_up_proj, mlp, moe_act, "
          "shared_experts, with + between them"),
      number<&Layout::recompute_layers, 1>("recompute_layers", {"recompute_num_layers"},
                                           "layers of each stage that recompute=full is for; all"),
      number<&Layout::lora, 1>("lora", {"lora_rank", "lora_r"},
                               "rank of adapters that learn in place of the weights (LoRA); none"),
      {.field = {.name = "lora_targets",
                 .aliases = {"lora_target_modules"},
                 .doc = "products with adapters: linear_qkv, linear_proj, linear_fc1, linear_fc2, "
                        "with + between them; all"},
       .read =
           [](Layout& layout, const FieldText& text) {
             text.some_of(adapter_targets());
             layout.lora_targets = text.text;
           },
       .write = [](const Layout& layout) { return layout.lora_targets; }},
      {.field = {.name = "lora_weights",
                 .aliases = {},
                 .doc = "what the frozen weights are in memory with lora: bf16, fp8"},
       .read =
           [](Layout& layout, const FieldText& text) {
             layout.lora_weight_bytes = text.one_of(frozen_names());
           },
       .write =
           [](const Layout& layout) {
             return std::string(first_name(frozen_names(), layout.lora_weight_bytes));
           }},
      number<&Layout::micro_batch, 1>("micro", {"micro_batch_size"},
                                      "sequences that go through the pipeline together"),
      number<&Layout::packed_texts, 1>(
          "packed", {}, "texts packed into each sequence, equally long; attention stays in each"),
      number<&Layout::global_batch, 1>("global", {"global_batch_size"},
                                       "sequences of one iteration; a micro-batch each copy"),
      word<&Layout::schedule>(
          "schedule", {"pipeline_parallel_schedule"},
          "order of the micro-batches' passes, or the CSV file of one (PyTorch's)"),
      word<&Layout::order>("order", {"rank_order"}, "which ranks are neighbours, innermost first")};
  return all;
}

const FieldRule* rule_named(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  for (const FieldRule& rule : rules()) {
    const auto& aliases = rule.field.aliases;
    if (rule.field.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end())
      return &rule;
  }
  return nullptr;
}

struct GivenField {
  const FieldRule* rule = nullptr;
  std::string value;
};

// Of "tp=2,pp=2".
std::vector<GivenField> given_in(const std::string& text, const std::string& option) {
  std::vector<GivenField> all;
  std::set<std::string> seen;
  for (const std::string& part : text.empty() ? std::vector<std::string>{} : cut_at(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) refuse(option, part, "must be NAME=VALUE");
    const FieldRule* rule = rule_named(part.substr(0, equals));
    if (rule == nullptr) {
      std::vector<std::string> known;
      for (const LayoutField& field : layout_fields()) known.push_back(field.name);
      refuse(option, part, unknown_name(part.substr(0, equals), known));
    }
    if (!seen.insert(rule->field.name).second)
      refuse(option, part, rule->field.name + " was given before");
    all.push_back({.rule = rule, .value = part.substr(equals + 1)});
  }
  return all;
}

void must_divide(const std::string& option, const std::pair<const char*, std::int64_t>& divisor,
                 const std::pair<std::string, std::int64_t>& number) {
  if (number.second % divisor.second != 0)
    refuse(option, fmt::format("{}={}", divisor.first, divisor.second),
           fmt::format("must divide {}, {}", number.second, number.first));
}

}  // namespace

const char* name_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kTensor:
      return "tp";
    case Dimension::kContext:
      return "cp";
    case Dimension::kExpert:
      return "ep";
    case Dimension::kData:
      return "dp";
    case Dimension::kReplica:
      return "dp_replicate";
    case Dimension::kPipeline:
      return "pp";
  }
  return "";
}
const char* name_of(LayerSplit split) { return first_name(split_names(), split); }
const char* name_of(StateSharding sharding) { return first_name(sharding_names(), sharding); }
const char* name_of(Dispatcher dispatcher) { return first_name(dispatcher_names(), dispatcher); }
const char* name_of(ContextExchange exchange) { return first_name(context_names(), exchange); }
const char* name_of(AttentionKind attention) { return first_name(attention_names(), attention); }
const char* name_of(Recompute recompute) { return first_name(recompute_names(), recompute); }

const std::vector<LayoutField>& layout_fields() {
  static const std::vector<LayoutField> fields = [] {
    std::vector<LayoutField> list;
    for (const FieldRule& rule : rules()) list.push_back(rule.field);
    return list;
  }();
  return fields;
}

std::vector<std::string> Layout::modules() const { return cut_at(recompute_modules, '+'); }
std::vector<std::string> Layout::adapted() const { return cut_at(lora_targets, '+'); }

Layout parse_layout(const std::string& text, const std::string& option) {
  Layout layout;
  for (const GivenField& given : given_in(text, option))
    given.rule->read(layout,
                     {.option = option + ": " + given.rule->field.name, .text = given.value});
  return layout;
}

std::set<std::string> fields_named(const std::string& text, const std::string& option) {
  std::set<std::string> names;
  for (const GivenField& given : given_in(text, option)) names.insert(given.rule->field.name);
  return names;
}

std::string to_text(const Layout& layout, const std::set<std::string>& also) {
  const Layout fresh;
  std::vector<std::string> parts;
  for (const FieldRule& rule : rules())
    if (const std::string value = rule.write(layout);
        value != rule.write(fresh) || also.contains(rule.field.name))
      parts.push_back(rule.field.name + "=" + value);
  return fmt::format("{}", fmt::join(parts, ","));
}

Layout resolved(Layout layout, std::int64_t gpus, const std::string& option) {
  const std::int64_t model = layout.tensor * layout.context * layout.pipeline;
  if (gpus % model != 0)
    refuse(option, fmt::format("tp={},cp={},pp={}", layout.tensor, layout.context, layout.pipeline),
           fmt::format("their product {} must divide the {} GPUs", model, gpus));
  if (layout.data == 0) layout.data = gpus / model;
  if (layout.ranks() != gpus)
    refuse(option,
           fmt::format("tp={},cp={},pp={},dp={}", layout.tensor, layout.context, layout.pipeline,
                       layout.data),
           fmt::format("their product {} must be the {} GPUs", layout.ranks(), gpus));
  if (layout.expert_tensor == 0) layout.expert_tensor = layout.tensor;
  const std::int64_t stage_ranks = gpus / layout.pipeline;
  must_divide(option, {"etp x ep", layout.expert_tensor * layout.expert},
              {"the ranks of a pipeline stage", stage_ranks});
  if (layout.imbalance > static_cast<double>(layout.expert))
    refuse(option, fmt::format("imbalance={:g}", layout.imbalance),
           fmt::format("must be at most ep, {}: one GPU cannot get more than all tokens",
                       layout.expert));
  if (layout.data_shard > 0) {
    if (layout.sharding == StateSharding::kNone)
      refuse(option, fmt::format("dp_shard={}", layout.data_shard), "needs zero=");
    must_divide(option, {"dp_shard", layout.data_shard}, {"the copies, dp", layout.data});
    must_divide(option, {"etp x ep", layout.expert_tensor * layout.expert},
                {"the ranks that share a copy of the state", stage_ranks / layout.replicas()});
  }
  if (layout.global_batch == 0) layout.global_batch = layout.micro_batch * layout.data;
  must_divide(option, {"micro x dp", layout.micro_batch * layout.data},
              {"the global batch", layout.global_batch});
  layout.pipeline_copies = network_copies_of(layout.schedule, option);
  if (layout.virtual_stages > 1 && layout.pipeline == 1)
    refuse(option, fmt::format("vpp={}", layout.virtual_stages), "needs pp > 1");
  if (layout.tensor_overlaps && (layout.tensor == 1 || !layout.has_sequence_parallel))
    refuse(option, "tp_overlap=true", "needs tp > 1 and sp");
  if (layout.recompute_modules != Layout().recompute_modules &&
      layout.recompute != Recompute::kSelective)
    refuse(option, "recompute_modules=" + layout.recompute_modules, "needs recompute=selective");
  for (const char* name : {"lora_targets", "lora_weights"})
    if (const auto* rule = rule_named(name);
        layout.lora == 0 && rule->write(layout) != rule->write(Layout()))
      refuse(option, fmt::format("{}={}", name, rule->write(layout)), "needs lora=");
  if (layout.recompute_layers > 0 && layout.recompute != Recompute::kFull)
    refuse(option, fmt::format("recompute_layers={}", layout.recompute_layers),
           "needs recompute=full");
  return layout;
}

RankGrid::RankGrid(const Layout& layout, const std::string& option)
    : ranks_(layout.ranks()), has_mirrors_(layout.pipeline_copies > 1) {
  const std::int64_t in_stage = ranks_ / layout.pipeline;
  std::int64_t stride = 1;
  std::int64_t expert_stride = 1;
  std::set<std::string> seen;
  for (const std::string& name : cut_at(layout.order, '-')) {
    const auto add = [&](std::vector<Axis>& axes, std::int64_t& next, Dimension dimension,
                         std::int64_t size) {
      axes.push_back({.dimension = dimension, .size = size, .stride = next});
      next *= size;
    };
    if (!seen.insert(name).second) refuse(option, layout.order, name + " is there twice");
    if (name == "tp") {
      add(axes_, stride, Dimension::kTensor, layout.tensor);
      add(experts_, expert_stride, Dimension::kTensor, layout.expert_tensor);
    } else if (name == "cp") {
      add(axes_, stride, Dimension::kContext, layout.context);
    } else if (name == "ep") {
      add(experts_, expert_stride, Dimension::kExpert, layout.expert);
    } else if (name == "dp") {
      const std::int64_t replicas = layout.replicas();
      add(axes_, stride, Dimension::kData, layout.data / replicas);
      add(axes_, stride, Dimension::kReplica, replicas);
      add(experts_, expert_stride, Dimension::kData,
          in_stage / (layout.expert_tensor * layout.expert * replicas));
      add(experts_, expert_stride, Dimension::kReplica, replicas);
    } else if (name == "pp") {
      add(axes_, stride, Dimension::kPipeline, layout.pipeline);
      add(experts_, expert_stride, Dimension::kPipeline, layout.pipeline);
    } else {
      refuse(option, layout.order, unknown_name(name, {"tp", "cp", "ep", "dp", "pp"}));
    }
  }
  if (seen.size() != 5)
    refuse(option, layout.order, "must name tp, cp, ep, dp and pp, such as tp-cp-ep-dp-pp");
}

const RankGrid::Axis& RankGrid::axis_of(const std::vector<Axis>& axes, Dimension dimension) {
  return *std::find_if(axes.begin(), axes.end(),
                       [&](const Axis& axis) { return axis.dimension == dimension; });
}

GridPlace RankGrid::place_of(std::int64_t rank) const {
  GridPlace place{};
  for (const Axis& axis : axes_)
    place[static_cast<size_t>(axis.dimension)] = rank / axis.stride % axis.size;
  return place;
}

std::int64_t RankGrid::rank_at(const GridPlace& place) const {
  std::int64_t rank = 0;
  for (const Axis& axis : axes_) rank += place[static_cast<size_t>(axis.dimension)] * axis.stride;
  return rank;
}

std::vector<int> RankGrid::line(std::int64_t rank, const std::vector<Axis>& axes,
                                const std::vector<Dimension>& dimensions) {
  std::vector<std::int64_t> members{rank};
  for (const Dimension dimension : dimensions) {
    const Axis& axis = axis_of(axes, dimension);
    for (std::int64_t& member : members) member -= member / axis.stride % axis.size * axis.stride;
    std::vector<std::int64_t> all;
    for (std::int64_t place = 0; place < axis.size; ++place)
      for (const std::int64_t member : members) all.push_back(member + place * axis.stride);
    members = std::move(all);
  }
  std::sort(members.begin(), members.end());
  return {members.begin(), members.end()};
}

std::vector<int> RankGrid::group(std::int64_t rank,
                                 const std::vector<Dimension>& dimensions) const {
  return line(rank, axes_, dimensions);
}
std::vector<int> RankGrid::expert_group(std::int64_t rank, Dimension dimension) const {
  return line(rank, experts_, {dimension});
}
std::optional<std::int64_t> RankGrid::mirror_of(std::int64_t rank) const {
  if (!has_mirrors_) return std::nullopt;
  GridPlace place = place_of(rank);
  std::int64_t& stage = place[static_cast<size_t>(Dimension::kPipeline)];
  stage = axis_of(axes_, Dimension::kPipeline).size - 1 - stage;
  return rank_at(place);
}

}  // namespace forescale
