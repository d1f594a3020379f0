#include "tests/reliability/random_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "algorithms/collective.hpp"
#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/output_file.hpp"
#include "sim/ask/load_question.hpp"

namespace forescale::testing {
namespace {

// Of case_kinds().
enum Kind : std::uint8_t {
  kCollectiveOfGenerator,
  kCollectiveOfPreset,
  kCollectiveOfFile,
  kTrainingOfPreset,
  kTrainingOfFile
};

constexpr std::int64_t kRanks = 48;  // of most collectives
constexpr std::int64_t kManyRanks = 256;
constexpr std::int64_t kGpus = 6;  // of most trainings
constexpr std::int64_t kManyGpus = 20;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}
// Generators' keys have no units: theirs are in the text.
// A GPU's measured networks take what they take: its peak and its memory only share that out over
// the layers. How fast its kernels are is compute_scale.
bool is_of_kernels(const NumberSource& number) {
  return number.file.find("/gpus/") != std::string::npos &&
         (ends_with(number.path, "peak_flops_per_s") ||
          ends_with(number.path, "memory_bandwidth_bytes_per_s"));
}
bool is_rate(const NumberSource& number) {
  return ends_with(number.path, "_per_s") || ends_with(number.path, "bandwidth");
}
bool is_time(const NumberSource& number) {
  return !is_rate(number) && (ends_with(number.path, "_s") || ends_with(number.path, "latency"));
}

// Those that the question's platform and stack read, by name.
std::map<std::string, NumberSource> machine_numbers(const Question& question) {
  std::map<std::string, NumberSource> numbers;
  const auto note = [&numbers](const Platform& platform, const Stack& stack) {
    for (const Provenance* provenance : {&platform.provenance, &stack.provenance})
      for (const NumberSource& number : provenance->numbers)
        if (is_rate(number) || is_time(number)) numbers[number.file + ":" + number.path] = number;
  };
  if (question.about == Question::About::kCollective) {
    const QuestionMachine machine = load_machine(question, {});
    note(machine.platform, machine.stack);
  } else {
    const PredictionInputs inputs = load_inputs(question, {});
    note(inputs.platform, inputs.stack);
    std::erase_if(numbers, [](const auto& number) { return is_of_kernels(number.second); });
  }
  return numbers;
}

}  // namespace

Question in_other_words(const Question& question) {
  Question read{.about = question.about};
  read_question(JsonInput::from_text(to_json(question).dump(), "question"), read);
  return read;
}

std::string CaseMaker::platform(Dice& dice, std::uint64_t number) const {
  const std::string file = fmt::format("{}/case-{}.json", folder_, number);
  write_file(file, random_platform_file(dice), "--keep");
  return file;
}

const std::vector<std::string>& case_kinds() {
  static const std::vector<std::string> kKinds = {
      "collective, a generator's", "collective, a preset", "collective, random nodes",
      "training, a preset", "training, random nodes"};
  return kKinds;
}

void CaseMaker::collective(Dice& dice, Case& made) const {
  static const std::vector<std::string> kPresets = {
      "kesch",      "aws-p3dn",  "dgx-a100", "dgx-h100", "gcp-a3-high", "azure-nd-mi300x",
      "alps-gh200", "piz-daint", "dgx-b200", "minsky",   "owens",       "dgx-h100-superpod"};
  static const std::vector<std::string> kStackNames = {
      "ideal",    "gloo",         "mvapich2-gdr", "mvapich2-gdr-opt",
      "nccl-2.3", "openmpi-1.10", "mvapich2-2.3", "mpi-host-edr"};
  made.question = {.about = Question::About::kCollective};
  Question& question = made.question;
  switch (dice.whole(0, 3)) {
    case 0:
      made.kind = case_kinds()[kCollectiveOfGenerator];
      question.platform = random_generator(dice);
      question.stack = "ideal";
      break;
    case 1:
      made.kind = case_kinds()[kCollectiveOfPreset];
      question.platform = dice.of(kPresets);
      question.stack = dice.in_ten(6) ? "nccl" : dice.of(kStackNames);
      break;
    default:
      made.kind = case_kinds()[kCollectiveOfFile];
      question.platform = platform(dice, made.number);
      question.stack = dice.of(kStackNames);
  }
  const auto& ops = all_collective_ops();
  const CollectiveOp op =
      ops[static_cast<size_t>(dice.whole(0, static_cast<std::int64_t>(ops.size()) - 1))];
  question.plan = name_of(op);
  if (dice.in_ten(7)) {
    std::vector<const Collective*> of_op;
    for (const Collective* one : all_collectives())
      if (one->op == op) of_op.push_back(one);
    question.plan = dice.of(of_op)->name;
  }
  const Platform built = load_platform(question.platform);
  const std::int64_t most =
      std::min<std::int64_t>(built.slot_count(), dice.in_ten(1) ? kManyRanks : kRanks);
  if (most < 2) refuse("--platform", question.platform, "must have two ranks at least");
  question.ranks = {dice.whole(2, most)};
  question.bytes = {dice.whole(1, 50) == 1 ? 0
                                           : static_cast<std::int64_t>(dice.logarithmic(1, 3e8))};
}

void CaseMaker::training(Dice& dice, Case& made) const {
  static const std::vector<std::string> kPresets = {
      "kesch",    "owens",    "minsky",      "susitna",   "dgx-1-v100",
      "dgx-a100", "dgx-h100", "taurus-smp4", "piz-daint", "cluster-b"};
  static const std::vector<std::string> kModels = {"cifar10-quick", "alexnet", "googlenet",
                                                   "resnet-50", "mobilenet-v1"};
  static const std::vector<std::string> kSystems = catalogue("algorithms/systems");
  const bool is_preset = !dice.in_ten(3);
  made.kind = case_kinds()[is_preset ? kTrainingOfPreset : kTrainingOfFile];
  made.question = {};
  Question& question = made.question;
  question.platform = is_preset ? dice.of(kPresets) : platform(dice, made.number);
  question.system = dice.of(kSystems);
  question.model = dice.of(kModels);
  question.scaling = dice.in_ten(5) ? Scaling::kWeak : Scaling::kStrong;
  const std::int64_t most = std::min<std::int64_t>(load_platform(question.platform).slot_count(),
                                                   dice.in_ten(1) ? kManyGpus : kGpus);
  if (most < 2) refuse("--platform", question.platform, "must have two ranks at least");
  question.gpus = {dice.whole(2, most)};
  const std::int64_t each = std::int64_t{1} << dice.whole(0, 5);
  question.batch = question.scaling == Scaling::kWeak ? each : each * question.gpus.front();
}

void CaseMaker::vary_machine(Dice& dice, Case& made) {
  const std::map<std::string, NumberSource> numbers = machine_numbers(made.question);
  const double faster = dice.logarithmic(1.05, 4);
  const bool all = dice.in_ten(3);
  Variant wider{.relation = "higher rates", .question = made.question};
  Variant sooner{.relation = "shorter times", .question = made.question};
  const double stretch = dice.of(std::vector<double>{2, 3, 16, 1000});
  Variant stretched{.relation = "all times alike",
                    .question = made.question,
                    .expected = Variant::kScaled,
                    .factor = stretch,
                    .allowed = 1e-7};
  for (const auto& [name, number] : numbers) {
    if (number.value == 0) continue;
    if (is_rate(number) && (all || dice.in_ten(4))) wider.question.number_scales[name] = faster;
    if (is_time(number) && (all || dice.in_ten(4)))
      sooner.question.number_scales[name] = 1 / faster;
    stretched.question.number_scales[name] = is_rate(number) ? 1 / stretch : stretch;
  }
  Variant network{.relation = "a faster network", .question = made.question};
  network.question.network_scale = faster;
  made.variants.push_back(network);
  if (!wider.question.number_scales.empty()) made.variants.push_back(wider);
  if (!sooner.question.number_scales.empty()) made.variants.push_back(sooner);
  if (made.question.about == Question::About::kCollective) made.variants.push_back(stretched);
}

void CaseMaker::vary_size(Dice& dice, Case& made) {
  Variant less{.relation = "fewer bytes", .question = made.question};
  if (made.question.about == Question::About::kCollective) {
    // What a stack chooses by size, algorithms and protocols, may be worse for less, as in
    // libraries.
    if (made.question.stack != "ideal" || made.question.plan.find('/') == std::string::npos ||
        made.question.bytes.front() < 2)
      return;
    // In as many blocks of whole FP32 values, all alike, and none larger than the smallest there:
    // where bytes do not divide, the first blocks are larger and the last one smaller.
    const std::int64_t even = kBytesPerValue * made.question.ranks.front();
    const std::int64_t values = made.question.bytes.front() / even;  // of a block, in whole
    if (values < 2) return;
    less.question.bytes = {even * dice.whole(1, values - 1)};
  } else {
    // Buckets end at other tensors, and what is chosen by size is another.
    less.allowed = kAnomalyOfArrivals;
    less.question.bytes_scale = dice.logarithmic(0.25, 0.95);
    Variant quick{.relation = "faster GPUs", .question = made.question};
    quick.question.compute_scale = dice.logarithmic(0.25, 0.95);
    made.variants.push_back(quick);
  }
  made.variants.push_back(less);
}

// Hosts of a star are alike: which of them it is changes nothing.
void CaseMaker::move(Case& made) {
  if (made.question.platform.rfind("star:", 0) != 0) return;
  const int slots = load_platform(made.question.platform).slot_count();
  Variant moved{
      .relation = "on other hosts", .question = made.question, .expected = Variant::kScaled};
  std::vector<std::int64_t>& moved_to = moved.question.slots.emplace_back();
  for (int rank = 0; rank < made.question.ranks.front(); ++rank)
    moved_to.push_back((rank + slots / 2) % slots);
  moved.question.ranks.clear();
  made.variants.push_back(moved);
}

// The next ranks call the same at the same moment.
void CaseMaker::add_group(const Platform& platform, Case& made) {
  const std::int64_t ranks = made.question.ranks.front();
  if (2 * ranks > platform.slot_count()) return;
  Variant both{
      .relation = "a group beside it", .question = made.question, .expected = Variant::kNotFaster};
  both.question.ranks = {2 * ranks};
  both.question.split = fmt::format("div{}", ranks);
  made.variants.push_back(both);
}

// A slow link, another job or group beside it: never faster. Noise of nothing: the same.
void CaseMaker::disturb(Dice& dice, Case& made) {
  const Platform platform = load_platform(made.question.platform);
  if (platform.node_count > 1) {
    Variant slow{
        .relation = "a slow link", .question = made.question, .expected = Variant::kNotFaster};
    const auto node = dice.whole(0, std::min(platform.node_count, 4) - 1);
    slow.question.links[fmt::format("node{}", node)] =
        fmt::format("{:.3f}", dice.logarithmic(0.1, 0.9));
    made.variants.push_back(slow);
  }
  Variant noise{
      .relation = "noise of nothing", .question = made.question, .expected = Variant::kScaled};
  noise.question.message_noise = "sigma=0";
  made.variants.push_back(noise);
  if (made.question.about == Question::About::kCollective) {
    add_group(platform, made);
    return;
  }
  Variant beside{
      .relation = "a job beside it", .question = made.question, .expected = Variant::kNotFaster};
  beside.question.beside = "1";
  made.variants.push_back(beside);
}

Case CaseMaker::make(std::uint64_t number) const {
  Dice dice(seed_ * 1'000'003 + number);
  std::vector<std::string> refused;
  while (true) {
    Case made{.number = number, .kind = "", .question = {}, .variants = {}, .refused = {}};
    try {
      dice.in_ten(7) ? collective(dice, made) : training(dice, made);
      made.question = in_other_words(made.question);
      vary_machine(dice, made);
      vary_size(dice, made);
      move(made);
      disturb(dice, made);
      made.refused = refused;
      return made;
    } catch (const InputError& error) {  // no such plan on so many ranks, no GPUs, ...
      refused.push_back(made.kind + ": " + error.parts().constraint);
    }
  }
}

}  // namespace forescale::testing
