#include "sim/ask/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ranges>

#include "algorithms/layout/layout.hpp"
#include "algorithms/plan_choice.hpp"
#include "base/error.hpp"
#include "base/options_text.hpp"
#include "base/units.hpp"
#include "models/compute/kernel_fit_json.hpp"
#include "models/failures.hpp"
#include "sim/ask/inputs.hpp"
#include "sim/ask/rank_split.hpp"
#include "sim/ask/traced_throughput.hpp"
#include "sim/engine/message_noise.hpp"
#include "sim/run/other_jobs.hpp"
#include "topologies/link_faults.hpp"

namespace forescale {
namespace {

using Texts = std::vector<std::string>;

// A member that is text, as it is.
template <std::string Question::*kMember>
void parse_text(Question& question, const std::string& text, const std::string&) {
  question.*kMember = text;
}
template <std::string Question::*kMember>
Texts print_text(const Question& question) {
  return (question.*kMember).empty() ? Texts{} : Texts{question.*kMember};
}

constexpr std::int64_t kIterationsMax = 100'000;  // each is simulated

// A whole number from `kMin` to `kMax`.
template <auto kMember, std::int64_t kMin,
          std::int64_t kMax = std::numeric_limits<std::int64_t>::max()>
void parse_count(Question& question, const std::string& text, const std::string& source) {
  const std::int64_t number = parse_integer(text, source);
  if (number < kMin) refuse(source, text, fmt::format("must be >= {}", kMin));
  using Number = std::remove_reference_t<decltype(question.*kMember)>;
  const std::int64_t most = std::min<std::int64_t>(kMax, std::numeric_limits<Number>::max());
  if (number > most) refuse(source, text, fmt::format("must be <= {}", most));
  question.*kMember = static_cast<Number>(number);
}
template <auto kMember>
Texts print_count(const Question& question) {
  return question.*kMember == Question().*kMember ? Texts{}
                                                  : Texts{std::to_string(question.*kMember)};
}

void parse_layout_text(Question& question, const std::string& text, const std::string& source) {
  // What is named stays named: a search leaves it alone, at its default too.
  question.layout = to_text(parse_layout(text, source), fields_named(text, source));
  if (question.layout.empty()) question.layout = "tp=1";
}

double parse_factor(const std::string& text, const std::string& source) {
  double factor = 0;
  size_t end = 0;
  try {
    factor = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  if (end == 0 || end != text.size() || !std::isfinite(factor) || factor <= 0)
    refuse(source, text, "must be a number above 0");
  return factor;
}
// Shortest text that reads back as the same number.
std::string exact(double number) { return fmt::format("{}", number); }

template <double Question::*kMember>
void parse_scale(Question& question, const std::string& text, const std::string& source) {
  question.*kMember = parse_factor(text, source);
}
template <double Question::*kMember>
Texts print_scale(const Question& question) {
  return question.*kMember == 1 ? Texts{} : Texts{exact(question.*kMember)};
}

void parse_schedule_option(Question& question, const std::string& text, const std::string& source) {
  const OptionsText given = OptionsText::parse("option:" + text, source);
  if (given.values().empty()) refuse(source, "\"\"", "must be NAME=VALUE");
  for (const auto& [name, value] : given.values()) question.options[name] = value;
}
Texts print_options(const Question& question) {
  Texts texts;
  for (const auto& [name, value] : question.options)
    texts.push_back(fmt::format("{}={}", name, value));
  return texts;
}

// An operation alone, as the stack chooses, or with an algorithm and its options.
std::string checked_plan(const std::string& text, const std::string& source) {
  if (text.find('/') != std::string::npos) return plan_text(parse_plan(text, source));
  return name_of(parse_collective_op(text, source));
}

void parse_plan_field(Question& question, const std::string& text, const std::string& source) {
  question.plan = checked_plan(text, source);
}

void parse_plan_choice(Question& question, const std::string& text, const std::string& source) {
  const std::string plan = checked_plan(text, source);
  question.plans[plan.substr(0, plan.find('/'))] = plan;
}
Texts print_plans(const Question& question) {
  Texts texts;
  for (const auto& [op, plan] : question.plans) texts.push_back(plan);
  return texts;
}

void parse_number_scale(Question& question, const std::string& text, const std::string& source) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || text.find(":/") >= equals)
    refuse(source, text, "must be FILE:/json/pointer=FACTOR");
  question.number_scales[text.substr(0, equals)] = parse_factor(text.substr(equals + 1), source);
}
Texts print_number_scales(const Question& question) {
  Texts texts;
  for (const auto& [number, factor] : question.number_scales)
    texts.push_back(fmt::format("{}={}", number, exact(factor)));
  return texts;
}

void parse_failures_text(Question& question, const std::string& text, const std::string& source) {
  parse_failures(text, source);
  question.failures = text;
}
void parse_beside(Question& question, const std::string& text, const std::string& source) {
  parse_other_jobs(text, source);
  question.beside = text;
}
void parse_message_noise_text(Question& question, const std::string& text,
                              const std::string& source) {
  parse_message_noise(text, source);
  question.message_noise = text;
}

void parse_link(Question& question, const std::string& text, const std::string& source) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    refuse(source, text.empty() ? "\"\"" : text, "must be LINK=SHARE, LINK=down or LINK=lost");
  const std::string fault = text.substr(equals + 1);
  parse_link_fault(fault, source);
  question.links[text.substr(0, equals)] = fault;
}
Texts print_links(const Question& question) {
  Texts texts;
  for (const auto& [link, fault] : question.links)
    texts.push_back(fmt::format("{}={}", link, fault));
  return texts;
}

void parse_gpus(Question& question, const std::string& text, const std::string& source) {
  question.gpus = parse_integers(text, source);
  std::sort(question.gpus.begin(), question.gpus.end());
  question.gpus.erase(std::unique(question.gpus.begin(), question.gpus.end()), question.gpus.end());
}
template <std::vector<std::int64_t> Question::*kMember>
void parse_list(Question& question, const std::string& text, const std::string& source) {
  question.*kMember = parse_integers(text, source);
}
template <std::vector<std::int64_t> Question::*kMember>
Texts print_list(const Question& question) {
  if ((question.*kMember).empty()) return {};
  return {fmt::format("{}", fmt::join(question.*kMember, ","))};
}

void parse_slots(Question& question, const std::string& text, const std::string& source) {
  question.slots.clear();
  for (const auto& group : text | std::views::split('+'))
    question.slots.push_back(parse_integers(std::string(group.begin(), group.end()), source));
}
Texts print_slots(const Question& question) {
  std::vector<std::string> groups;
  for (const std::vector<std::int64_t>& group : question.slots)
    groups.push_back(fmt::format("{}", fmt::join(group, ",")));
  return groups.empty() ? Texts() : Texts{fmt::format("{}", fmt::join(groups, "+"))};
}

void parse_split_text(Question& question, const std::string& text, const std::string& source) {
  parse_split(text, source);
  question.split = text;
}

void parse_sizes(Question& question, const std::string& text, const std::string& source) {
  question.bytes.clear();
  for (const Bytes size : parse_byte_list(text, source)) question.bytes.push_back(size.value);
}

template <auto kMember>
void parse_flag(Question& question, const std::string& text, const std::string& source) {
  if (text != "true") refuse(source, text, "must be true, or left out");
  question.*kMember = true;
}
template <auto kMember>
Texts print_flag(const Question& question) {
  return question.*kMember ? Texts{"true"} : Texts{};
}

void parse_max_ranks(Question& question, const std::string& text, const std::string& source) {
  question.limits.ranks = parse_integer(text, source);
  if (question.limits.ranks < 1) refuse(source, text, "must be >= 1");
}
Texts print_max_ranks(const Question& question) {
  return question.limits.ranks == 0 ? Texts{} : Texts{std::to_string(question.limits.ranks)};
}

void parse_max_memory(Question& question, const std::string& text, const std::string& source) {
  question.limits.memory_bytes = parse_bytes(text, source).value;
  if (question.limits.memory_bytes < 1) refuse(source, text, "must be > 0");
}
Texts print_max_memory(const Question& question) {
  const std::int64_t bytes = question.limits.memory_bytes;
  return bytes == 0 ? Texts{} : Texts{std::to_string(bytes)};
}

void parse_scaling(Question& question, const std::string& text, const std::string& source) {
  if (text != "strong" && text != "weak") refuse(source, text, "must be strong or weak");
  question.scaling = text == "weak" ? Scaling::kWeak : Scaling::kStrong;
}
Texts print_scaling(const Question& question) {
  return question.scaling == Scaling::kWeak ? Texts{"weak"} : Texts{};
}

void parse_framework(Question& question, const std::string& text, const std::string& source) {
  question.framework = read_framework(text, source);
}
Texts print_framework(const Question& question) {
  return question.framework ? Texts{to_text(*question.framework)} : Texts{};
}

void parse_precision_field(Question& question, const std::string& text, const std::string& source) {
  question.precision = parse_precision(text, source);
}
Texts print_precision(const Question& question) {
  return question.precision ? Texts{name_of(*question.precision)} : Texts{};
}

void parse_memory_format_field(Question& question, const std::string& text,
                               const std::string& source) {
  question.memory_format = parse_memory_format(text, source);
}
Texts print_memory_format(const Question& question) {
  return question.memory_format ? Texts{name_of(*question.memory_format)} : Texts{};
}

void parse_fusion_field(Question& question, const std::string& text, const std::string& source) {
  question.fusion = parse_fusion(text, source);
}
Texts print_fusion(const Question& question) {
  return question.fusion == Fusion::kNone ? Texts{} : Texts{name_of(question.fusion)};
}

void parse_throughput_field(Question& question, const std::string& text,
                            const std::string& source) {
  question.throughput = parse_throughput(traced_throughput(text, source).value_or(text), source);
}
Texts print_throughput(const Question& question) {
  return question.throughput ? Texts{to_text(*question.throughput)} : Texts{};
}

void parse_input_shape(Question& question, const std::string& text, const std::string& /*source*/) {
  parse_shape(text);  // names --input-shape
  question.input_shape = text;
}

void parse_progress(Question& question, const std::string& text, const std::string& source) {
  if (text != "thread" && text != "inside-calls")
    refuse(source, text, "must be thread or inside-calls");
  question.progress = text;
}

std::vector<QuestionField> make_fields() {
  // Of both kinds, of training only (the default), or of collectives only.
  const auto of_both = [](QuestionField field) {
    field.of_collectives = true;
    return field;
  };
  const auto of_collectives = [](QuestionField field) {
    field.of_training = false;
    field.of_collectives = true;
    return field;
  };
  std::vector<QuestionField> fields = {
      of_both({.name = "platform",
               .doc = "Preset, JSON file (of so many nodes: dgx-h100:nodes=576) or generator",
               .parse = parse_text<&Question::platform>,
               .print = print_text<&Question::platform>}),
      {.name = "system",
       .doc = "Named system, see `forescale system list`",
       .parse = parse_text<&Question::system>,
       .print = print_text<&Question::system>},
      {.name = "schedule",
       .doc = "Schedule (default: the system's)",
       .parse = parse_text<&Question::schedule>,
       .print = print_text<&Question::schedule>},
      of_both(
          {.name = "stack",
           .doc =
               "Communication stack; nccl: the platform's own, nccl:NCCL_ALGO=Ring,Tree: in that "
               "environment, nccl:take=tree/ll128: told what to take (default: the system's)",
           .parse = parse_text<&Question::stack>,
           .print = print_text<&Question::stack>}),
      {.name = "model",
       .doc = "Zoo name, JSON file (a transformer's numbers: llama-3-70b:num_hidden_layers=8), "
              "Caffe .prototxt or .onnx",
       .parse = parse_text<&Question::model>,
       .print = print_text<&Question::model>},
      {.name = "batch",
       .doc = "Images an iteration: of all GPUs (strong) or of each GPU (weak)",
       .parse = parse_count<&Question::batch, 1>,
       .print = print_count<&Question::batch>},
      {.name = "scaling",
       .doc = "strong (default) or weak",
       .parse = parse_scaling,
       .print = print_scaling},
      {.name = "gpus",
       .doc = "Counts: 16,32,64 or 1..160 (doubling); default: 1 to all",
       .parse = parse_gpus,
       .print = print_list<&Question::gpus>},
      {.name = "options",
       .option = "--option",
       .repeats = QuestionField::kRepeats,
       .doc = "An option of the schedule, such as fusion_threshold=64MiB; may be repeated (see "
              "`forescale schedule show NAME`)",
       .parse = parse_schedule_option,
       .print = print_options},
      {.name = "plans",
       .option = "--plan",
       .repeats = QuestionField::kRepeats,
       .doc =
           "Plan of an operation in place of the system's: all-reduce/ring, or all-reduce for the "
           "stack's choice; may be repeated",
       .parse = parse_plan_choice,
       .print = print_plans},
      {.name = "framework",
       .doc =
           "Whose compute times count: Caffe, TensorFlow, MXNet, PyTorch (default: the system's); "
           "of "
           "a layout: Megatron-LM (the default), Megatron-LM-2 (2021 and Megatron-DeepSpeed), "
           "nanotron, llm-foundry, PyTorch (FSDP, compiled), "
           "PyTorch-2.10 (and before)",
       .parse = parse_framework,
       .print = print_framework},
      {.name = "gpu_model",
       .doc =
           "GPU model in place of the platform's own: what `calibrate fit` wrote (default: the one "
           "that the platform's or the GPU's file names; in FP32 published times of whole "
           "networks go before the GPU's)",
       .parse = parse_text<&Question::gpu_model>,
       .print = print_text<&Question::gpu_model>},
      {.name = "precision",
       .doc = "Of the GPU model's kernels, and of weights, gradients and activations where they "
              "are kept and sent, with FP32 master weights: fp32, tf32, fp16, bf16; fp8, "
              "mxfp8, nvfp4: of the products in a layout's layers, all else bf16 (default: tf32 "
              "where the GPU has it "
              "and no kernels measured in fp32, else fp32; of a layout bf16)",
       .parse = parse_precision_field,
       .print = print_precision},
      {.name = "memory_format",
       .doc =
           "How a GPU model's kernels find images: nchw, or nhwc (channels last; default in fp16 "
           "and bf16)",
       .parse = parse_memory_format_field,
       .print = print_memory_format},
      {.name = "fusion",
       .doc =
           "Layers that run within the kernel before them: none (default), activations (XLA), or "
           "pointwise, sums and masks too (cuDNN's BatchNorm with sum and activation, as MXNet, "
           "Paddle and MLPerf's submissions train)",
       .parse = parse_fusion_field,
       .print = print_fusion},
      {.name = "cuda_graphs",
       .repeats = QuestionField::kFlag,
       .doc =
           "Kernels are not asked for one by one (CUDA graphs, compiled networks): the time that "
           "the CPU needs for each, which small batches wait for, is left out",
       .parse = parse_flag<&Question::cuda_graphs>,
       .print = print_flag<&Question::cuda_graphs>},
      {.name = "throughput",
       .doc = "Measured on one GPU: 2500images/s@256, with its spread 2500images/s@256:3% (default "
              "2%), several batches 1400@64,2500@256, a CSV file of them (columns batch and "
              "images_per_s or iteration_s), or a profiler's trace step.json.gz@256; or on a node, "
              "19000images/s@256x8: of 8 GPUs with 256 images each. Layers keep their shares of it",
       .parse = parse_throughput_field,
       .print = print_throughput},
      {.name = "data",
       .doc = "Where training images come from: image-files, lmdb, ... (default: synthetic, which "
              "costs nothing); options as in image-files:decode_threads=4",
       .parse = parse_text<&Question::data>,
       .print = print_text<&Question::data>},
      of_both({.name = "placement",
               .doc = "Ranks on nodes: linear or random:seed=N, with per_node=K (default: the "
                      "platform's)",
               .parse = parse_text<&Question::placement>,
               .print = print_text<&Question::placement>}),
      {.name = "noise",
       .doc = "Seeded noise of every kernel: sigma=0.05,seed=7 (log-normal, mean 1); or of every "
              "iteration of a rank, as measured: file=steps.csv,seed=7 (times, one a line)",
       .parse = parse_text<&Question::noise>,
       .print = print_text<&Question::noise>},
      {.name = "stragglers",
       .option = "--straggler",
       .doc = "Slow ranks: 3:1.5 makes rank 3 take 1.5 times as long; several by commas",
       .parse = parse_text<&Question::stragglers>,
       .print = print_text<&Question::stragglers>},
      {.name = "failures",
       .doc =
           "Nodes that fail, and checkpoints: mtbf=6300h,checkpoint=60s,restart=10min (MTBF of a "
           "node; every=30min: between checkpoints, default the best), in epochs, days and costs",
       .parse = parse_failures_text,
       .print = print_text<&Question::failures>},
      {.name = "beside",
       .doc = "So many copies of the job run at the same time on the platform's next slots: 2, or "
              "jobs=2,after=10ms (each starts later); --placement random:seed=1 mixes their nodes",
       .parse = parse_beside,
       .print = print_text<&Question::beside>},
      {.name = "input_shape",
       .doc = "Input of a .prototxt or .onnx that leaves it open: 3x227x227",
       .parse = parse_input_shape,
       .print = print_text<&Question::input_shape>},
      {.name = "sequence",
       .option = "--seq",
       .doc = "Tokens of a sequence, of a transformer (default: what its file says)",
       .parse = parse_count<&Question::sequence, 1>,
       .print = print_count<&Question::sequence>},
      {.name = "layout",
       .doc = "Parallelism of a transformer: tp=2,pp=2,micro=1,global=128; fields: forescale tune "
              "layout --help",
       .parse = parse_layout_text,
       .print = print_text<&Question::layout>},
      {.name = "iterations",
       .doc = "Iterations to simulate (default: what the schedule needs)",
       .parse = parse_count<&Question::iterations, 1, kIterationsMax>,
       .print = print_count<&Question::iterations>},
      {.name = "epoch_images",
       .doc = "Images of an epoch (default 1281167: ILSVRC 2012 training set)",
       .parse = parse_count<&Question::epoch_images, 1>,
       .print = print_count<&Question::epoch_images>},
      {.name = "compute_scale",
       .doc = "Factor on all compute times: 1.1 is 10 % slower GPUs",
       .parse = parse_scale<&Question::compute_scale>,
       .print = print_scale<&Question::compute_scale>},
      {.name = "bytes_scale",
       .doc = "Factor on the values of every tensor, compute times stay as they are",
       .parse = parse_scale<&Question::bytes_scale>,
       .print = print_scale<&Question::bytes_scale>},
      {.name = "progress",
       .doc = "Who moves messages on: thread (always) or inside-calls (default: as the stack says)",
       .parse = parse_progress,
       .print = print_text<&Question::progress>},
      of_collectives({.name = "plan",
                      .doc = "Operation, reduce, or operation and algorithm with its options, "
                             "reduce/cb:chain_size=8,chunk_bytes=4MiB (default: the stack's)",
                      .parse = parse_plan_field,
                      .print = print_text<&Question::plan>}),
      of_collectives({.name = "ranks",
                      .doc = "Rank counts: 160, 16,32,64 or 16..160 (default: all of the platform)",
                      .parse = parse_list<&Question::ranks>,
                      .print = print_list<&Question::ranks>}),
      of_collectives({.name = "split",
                      .doc =
                          "Ranks fall into groups that call at once, as NCCL_TESTS_SPLIT has it: "
                          "mod8, every eighth one, or div8, eight in a row; the first counts, and "
                          "what shares links with it",
                      .parse = parse_split_text,
                      .print = print_text<&Question::split>}),
      of_collectives({.name = "slots",
                      .doc = "The ranks are these slots of the platform: 0,8,16,24 (instead of "
                             "--ranks); of groups that call at once 0,8,16,24+1,9,17,25",
                      .parse = parse_slots,
                      .print = print_slots}),
      of_collectives({.name = "bytes",
                      .doc = "Sizes: 256MiB or 64KiB..256MiB (doubling)",
                      .parse = parse_sizes,
                      .print = print_list<&Question::bytes>}),
      of_collectives({.name = "root",
                      .doc = "Root rank (default 0)",
                      .parse = parse_count<&Question::root, 0>,
                      .print = print_count<&Question::root>}),
      of_collectives({.name = "explicit_staging",
                      .repeats = QuestionField::kFlag,
                      .doc = "Simulate every segment of staged copies (slow; default: the fill "
                             "formula)",
                      .parse = parse_flag<&Question::explicit_staging>,
                      .print = print_flag<&Question::explicit_staging>}),
      of_both({.name = "whole",
               .repeats = QuestionField::kFlag,
               .doc = "Simulate every rank, also where a few would stand for all (slow; shows how "
                      "near those come)",
               .parse = parse_flag<&Question::whole>,
               .print = print_flag<&Question::whole>}),
      of_both({.name = "max_ranks",
               .doc = "Up to so many ranks are simulated where not a few of them stand for all "
                      "(default 4096)",
               .parse = parse_max_ranks,
               .print = print_max_ranks}),
      of_both({.name = "max_memory",
               .doc = "What all simulations may take: 16GiB (default: nine tenths of what is free)",
               .parse = parse_max_memory,
               .print = print_max_memory}),
      of_both({.name = "network_scale",
               .doc = "Factor on the bandwidth of all links between nodes",
               .parse = parse_scale<&Question::network_scale>,
               .print = print_scale<&Question::network_scale>}),
      of_both({.name = "links",
               .option = "--link",
               .repeats = QuestionField::kRepeats,
               .doc =
                   "A link that is not as it should be: node3/nic0=0.25 (of its bandwidth), "
                   "leaf0--spine1=down (routes go around it) or =lost (none does); a device or a "
                   "node stands for all its links to the fabric; may be repeated",
               .parse = parse_link,
               .print = print_links}),
      of_both({.name = "message_noise",
               .doc =
                   "Seeded noise of every message: sigma=0.1,seed=7 (log-normal, median 1), or as "
                   "measured: file=pings.csv,seed=7 (single times, one a line)",
               .parse = parse_message_noise_text,
               .print = print_text<&Question::message_noise>}),
      of_both({.name = "number_scales",
               .option = "--scale-number",
               .repeats = QuestionField::kRepeats,
               .doc = "One number of the input files times a factor: "
                      "models/stacks/gloo.json:/eager_limit_bytes=2 (--sources lists them); may be "
                      "repeated",
               .parse = parse_number_scale,
               .print = print_number_scales}),
  };
  for (QuestionField& field : fields) {
    if (!field.option.empty()) continue;
    field.option = "--" + field.name;
    std::replace(field.option.begin(), field.option.end(), '_', '-');
  }
  return fields;
}

std::string scalar_text(const JsonInput& value) {
  return value.is_string() ? value.string() : value.raw().dump();
}

// What a member of a JSON object gives a field, and where.
std::vector<std::pair<JsonInput, std::string>> texts_of(const JsonInput& value,
                                                        const QuestionField& field) {
  std::vector<std::pair<JsonInput, std::string>> texts;
  if (field.repeats == QuestionField::kRepeats && value.is_object()) {
    for (const std::string& name : value.keys())
      texts.emplace_back(value.at(name), name + "=" + scalar_text(value.at(name)));
  } else if (field.repeats == QuestionField::kRepeats) {
    for (const JsonInput& element : value.elements()) texts.emplace_back(element, element.string());
  } else {
    if (value.is_object() || value.is_array()) value.fail("must be a text or a number");
    texts.emplace_back(value, scalar_text(value));
  }
  return texts;
}

}  // namespace

const std::vector<QuestionField>& question_fields() {
  static const std::vector<QuestionField> fields = make_fields();
  return fields;
}

const QuestionField& question_field(const std::string& name) {
  for (const QuestionField& field : question_fields())
    if (field.name == name) return field;
  FORESCALE_CHECK(false, "no field of a question: " + name);
}

std::map<std::string, std::vector<std::string>> given_fields(const Question& question) {
  std::map<std::string, std::vector<std::string>> given;
  for (const QuestionField& field : question_fields())
    if (field.is_of(question.about))
      if (Texts texts = field.print(question); !texts.empty())
        given.emplace(field.name, std::move(texts));
  return given;
}

nlohmann::json to_json(const Question& question) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, texts] : given_fields(question))
    if (question_field(name).repeats == QuestionField::kRepeats)
      json[name] = texts;
    else
      json[name] = texts.front();
  return json;
}

void read_question(const JsonInput& in, Question& question,
                   const std::vector<std::string>& others) {
  for (const std::string& key : in.keys()) {
    if (std::find(others.begin(), others.end(), key) != others.end()) continue;
    const QuestionField* field = nullptr;
    std::vector<std::string> known = others;
    for (const QuestionField& one : question_fields()) {
      if (!one.is_of(question.about)) continue;
      known.push_back(one.name);
      if (one.name == key) field = &one;
    }
    const JsonInput value = in.at(key);
    if (field == nullptr) value.fail(unknown_name(key, known));
    for (const auto& [place, text] : texts_of(value, *field)) {
      try {
        field->parse(question, text, place.file());
      } catch (const InputError& error) {
        place.fail(error.parts().constraint);
      }
    }
  }
}

std::string key_of(const Question& question) {
  std::string key = question.about == Question::About::kTraining ? "training" : "collective";
  for (const auto& [name, texts] : given_fields(question))
    for (const std::string& text : texts) key += fmt::format("\n{}={}", name, text);
  return key;
}

std::string command_of(const Question& question) {
  std::string command =
      question.about == Question::About::kTraining ? "forescale predict" : "forescale collective";
  for (const QuestionField& field : question_fields())
    if (field.is_of(question.about))
      for (const std::string& text : field.print(question))
        command += " " + field.option + (field.repeats == QuestionField::kFlag ? "" : " " + text);
  return command;
}

}  // namespace forescale
