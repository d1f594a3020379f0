#include "studies/layout/layout_setup.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "models/compute/compute_choice.hpp"
#include "models/matrix_peaks.hpp"
#include "models/workload/transformer/decoder.hpp"
#include "models/workload/transformer/recompute.hpp"
#include "sim/run/other_jobs.hpp"

namespace forescale {
namespace {

// The platform's GPU, its kernels, and the precisions.
FittedGpu choose_gpu(const LayoutCase& about, const Platform& platform, LayoutSetUp& set_up) {
  const Question& question = about.question;
  if (!platform.can_train()) refuse("--platform", question.platform, "has no GPUs to train on");
  set_up.gpu = platform.gpu_models.front();
  if (about.gpus > platform.slot_count())
    refuse("--gpus", std::to_string(about.gpus),
           fmt::format("must be at most the {} GPUs of platform {}", platform.slot_count(),
                       platform.name));
  const OtherJobs others = parse_other_jobs(question.beside, "--beside");
  if (others.after_s > 0)
    refuse("--beside", question.beside,
           "starts jobs later than others; with --layout they call in step, all at once");
  if (about.gpus * (others.count + 1) > platform.slot_count())
    refuse("--beside", question.beside,
           fmt::format("asks for {} jobs of {} GPUs; platform {} has {}", others.count + 1,
                       about.gpus, platform.name, platform.slot_count()));
  set_up.precision = question.precision.value_or(Precision::kBf16);
  const bool quantises = is_quantised(set_up.precision);
  const ComputeChoice choice{.gpu_model = question.gpu_model,
                             .option = "--gpu-model",
                             .precision = quantises ? Precision::kBf16 : set_up.precision};
  set_up.values = precision_on(set_up.gpu, choice);
  set_up.peak_flops_per_s =
      load_matrix_peaks(set_up.gpu.file, "--gpu", nullptr).of(set_up.precision).value;
  if (set_up.peak_flops_per_s == 0)
    refuse("--precision", name_of(set_up.precision),
           fmt::format("is not among the peaks of {}", set_up.gpu.file));
  const std::string name = gpu_model_for(set_up.gpu, choice);
  if (name.empty())
    refuse("--platform", question.platform,
           "has a GPU whose kernels nobody measured; transformers need --gpu-model");
  FittedGpu fitted = model_on(set_up.gpu, name, "--gpu-model", nullptr);
  const KernelKind product{.operation = "gemm",
                           .type = "",
                           .pass = KernelPass::kForward,
                           .precision = timed_as(set_up.precision)};
  if (quantises && fitted.find_kernels(product) == nullptr)
    refuse("--precision", name_of(set_up.precision),
           fmt::format("has no products measured on {}", set_up.gpu.name));
  return fitted;
}

std::vector<int> nodes_of_ranks(const Platform& platform, std::int64_t gpus) {
  std::vector<int> nodes;
  for (std::int64_t rank = 0; rank < gpus; ++rank) {
    const int device = platform.endpoints[static_cast<size_t>(rank)];
    nodes.push_back(platform.devices[static_cast<size_t>(device)].node);
  }
  return nodes;
}

void check_lora(const Transformer& model, const LayoutSetUp& set_up) {
  const Layout& layout = set_up.layout;
  if (layout.lora == 0) return;
  check_adapters(model, adapters_of(layout), kLayoutOption);
  if (layout.recompute == Recompute::kSelectiveOp)
    refuse(kLayoutOption, fmt::format("lora={},recompute=selective_op", layout.lora),
           "which products run again is not known with adapters");
  if (layout.lora_weight_bytes == 1 && !is_quantised(set_up.precision))
    refuse(kLayoutOption, "lora_weights=fp8", "needs --precision fp8 or another of its kind");
}

}  // namespace

Transformer transformer_of(const Question& question) {
  const JsonInput in = model_input(question.model, "--model");
  if (!is_transformer(in))
    refuse("--model", question.model, "must be a transformer, which names its model_type");
  return read_transformer(in);
}

Question machine_question(const LayoutCase& about) {
  Question question;
  question.about = Question::About::kCollective;
  question.platform = about.question.platform;
  question.placement = about.question.placement;
  question.stack = about.question.stack;
  question.network_scale = about.question.network_scale;
  return question;
}

Question slow_machine_question(const LayoutCase& about) {
  Question question = machine_question(about);
  question.links = about.question.links;
  return question;
}

LayoutSetUp set_up_layout(const LayoutCase& about, Asker& asker) {
  const Question& question = about.question;
  const QuestionMachine& machine = asker.machine(machine_question(about), about.scenario);
  const Transformer model = transformer_of(question);
  LayoutSetUp set_up;
  Layout& layout = set_up.layout;
  layout = resolved(parse_layout(question.layout, kLayoutOption), about.gpus, kLayoutOption);
  if (layout.virtual_stages > 1 && layout.schedule == "1f1b") layout.schedule = "interleaved";
  set_up.model = model.name;
  set_up.has_experts = model.experts.has_value();
  set_up.tokens = question.sequence > 0 ? question.sequence : model.sequence;
  const FittedGpu fitted = choose_gpu(about, machine.platform, set_up);
  set_up.framework =
      transformer_framework(question.framework.value_or(kDefaultTransformerFramework),
                            layout.is_compiled ? LayerCode::kCompiled : LayerCode::kEager,
                            set_up.gpu.name, "--framework", nullptr);
  for (double* each :
       {&set_up.framework.kernels, &set_up.framework.kernels_fp8, &set_up.framework.host_layer_s,
        &set_up.framework.host_expert_layer_s, &set_up.framework.host_tensor_layer_s,
        &set_up.framework.host_pipeline_layer_s})
    *each *= question.compute_scale;
  for (const std::string& module : layout.modules()) {
    const std::vector<std::string> known = recompute_modules();
    if (std::find(known.begin(), known.end(), module) == known.end())
      refuse(kLayoutOption, "recompute_modules=" + module, unknown_name(module, known));
  }
  if (layout.recompute == Recompute::kSelectiveOp && !set_up.framework.saves_other_products)
    refuse(kLayoutOption, "recompute=selective_op", "needs --framework PyTorch or PyTorch-2.10");
  if (layout.replicas() > 1 && !set_up.framework.has_hybrid_sharding)
    refuse(kLayoutOption, fmt::format("dp_shard={}", layout.data_shard),
           "needs a --framework with hybrid sharding: Megatron-LM, PyTorch or llm-foundry");
  if (layout.replicas() > 1 && layout.sharding == StateSharding::kOptimizer &&
      set_up.framework.buckets.gradients_by_layers)
    refuse(
        kLayoutOption, fmt::format("dp_shard={},zero=optimizer", layout.data_shard),
        "PyTorch shares an optimizer's state alone over all copies (ZeroRedundancyOptimizer): take "
        "zero=gradients or parameters");
  if (!layout.is_compiled && is_quantised(set_up.precision))
    refuse(kLayoutOption, "compile=false", "is known of BF16 alone");
  if (layout.recompute == Recompute::kSelectiveOp && layout.attention == AttentionKind::kUnfused)
    refuse(kLayoutOption, "recompute=selective_op,attention=unfused",
           "needs flash attention, whose result is saved");
  if (layout.recompute == Recompute::kSelectiveOp && (model.experts || model.latent))
    refuse(kLayoutOption, "recompute=selective_op",
           fmt::format("is known of layers without experts and latent attention, not of {}",
                       model.name));
  check_lora(model, set_up);
  if (set_up.tokens % layout.packed_texts != 0)
    refuse(kLayoutOption, fmt::format("packed={}", layout.packed_texts),
           fmt::format("must divide the sequences of {} tokens", set_up.tokens));
  const Network whole =
      infer_network(decoder(model, set_up.tokens, "--seq",
                            {.texts = layout.packed_texts, .adapters = adapters_of(layout)}));
  set_up.parameters = whole.parameters() + whole.frozen_parameters();
  // Backward twice as many, of frozen weights as many, without those that attention computes again.
  double passes_flops = 0;
  for (const Layer& layer : whole.layers)
    passes_flops += (layer.is_frozen_product() ? 2 : 3) * layer.forward_flops;
  set_up.model_flops =
      passes_flops * static_cast<double>(layout.global_batch) / static_cast<double>(about.gpus);
  set_up.work = iteration_work(
      {.layout = &layout,
       .framework = &set_up.framework,
       .gpu = &set_up.gpu,
       .stack = &machine.stack,
       .value_bytes = whole_bytes_a_value(set_up.values),
       .experts = model.experts,
       .nodes = nodes_of_ranks(machine.platform, about.gpus)},
      stage_parts({.model = &model,
                   .layout = &layout,
                   .tokens = set_up.tokens,
                   .precision = set_up.values,
                   .products = is_quantised(set_up.precision) ? std::optional(set_up.precision)
                                                              : std::nullopt,
                   .splits_backward = splits_backward(layout, kLayoutOption),
                   .fitted = &fitted,
                   .gpu = &set_up.gpu,
                   .stack = &machine.stack,
                   .framework = &set_up.framework,
                   .option = kLayoutOption}),
      kLayoutOption);
  return set_up;
}

const std::set<std::string>& layout_question_fields() {
  static const std::set<std::string> kFields = {
      "platform", "placement", "stack",      "model",         "sequence",  "layout",
      "gpus",     "precision", "gpu_model",  "network_scale", "framework", "failures",
      "links",    "noise",     "stragglers", "compute_scale", "beside"};
  return kFields;
}

void check_layout_question(const Question& question) {
  for (const auto& [name, texts] : given_fields(question))
    if (!layout_question_fields().contains(name))
      refuse(question_field(name).option, texts.front(), "does not go with --layout");
  if (question.gpus.empty()) refuse("--gpus", "", "is required with --layout");
}

}  // namespace forescale
