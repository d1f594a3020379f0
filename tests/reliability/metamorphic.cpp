// Metamorphic campaign: random questions about random machines, and what has to hold between their
// answers whatever the right ones are.
//
//   metamorphic [CASES [SEED [FIRST]]]
//
// Prints every violation with the commands that repeat both answers, with as few changed numbers as
// show it, and a line of counts for each relation at the end. Exit code 1 with a violation. Case I
// of a seed is the same in every run.
//
// Where messages wait for each other, less work may take longer, as what comes first changes
// (Graham, Bounds on multiprocessing timing anomalies, 1969): such answers may be slower by
// kAnomaly, and are counted. Where nothing contends nothing may be slower at all.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "algorithms/collective.hpp"
#include "algorithms/schedule.hpp"
#include "algorithms/system.hpp"
#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/progress.hpp"
#include "base/scratch_folder.hpp"
#include "sim/ask/ask.hpp"
#include "tests/reliability/random_machine.hpp"

namespace forescale::testing {
namespace {

constexpr double kRounding = 1e-9;  // relative
constexpr double kAnomaly = 0.1;
// Of schedules that do what comes first, and of CaffeGPI, whose ranks launch their passes before or
// after a copy that waits for them: a microsecond decides between two modes.
constexpr double kAnomalyOfArrivals = 0.5;
constexpr double kCpuLimit_s = 20;  // of a simulation; one that takes longer is no case
constexpr size_t kCasesAtOnce = 50;
const std::filesystem::path kFindings = "metamorphic-findings";  // their platform files, here

// How the answer to a changed question stands to that of the question itself.
struct Variant {
  enum Expected { kNotSlower, kScaled };
  std::string relation;
  Question question;
  Expected expected = kNotSlower;
  double factor = 1;           // kScaled: times that of the question itself
  double allowed = kRounding;  // relative
};

struct Case {
  std::uint64_t number = 0;
  Question question;
  std::vector<Variant> variants;
};

struct Counts {
  std::uint64_t held = 0;
  std::uint64_t anomalies = 0;  // of those held
  std::uint64_t violated = 0;
  double worst = 0;  // anomaly or violation, relative
};

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

// As it is read back from what it is written as.
Question in_other_words(const Question& question) {
  Question read{.about = question.about};
  read_question(JsonInput::from_text(to_json(question).dump(), "question"), read);
  return read;
}

class CaseMaker {
 public:
  CaseMaker(std::uint64_t seed, std::string folder) : seed_(seed), folder_(std::move(folder)) {}

  // Draws until there is something that can be asked.
  Case make(std::uint64_t number) const;

 private:
  std::string platform(Dice& dice, std::uint64_t number) const;
  Question collective(Dice& dice, std::uint64_t number) const;
  Question training(Dice& dice, std::uint64_t number) const;
  static void vary_machine(Dice& dice, Case& made);
  static void vary_size(Dice& dice, Case& made);
  static void move(Case& made);

  std::uint64_t seed_;
  std::string folder_;
};

std::string CaseMaker::platform(Dice& dice, std::uint64_t number) const {
  const std::string file = fmt::format("{}/case-{}.json", folder_, number);
  write_file(file, random_platform_file(dice), "--keep");
  return file;
}

Question CaseMaker::collective(Dice& dice, std::uint64_t number) const {
  static const std::vector<std::string> kPresets = {
      "kesch",      "aws-p3dn",  "dgx-a100", "dgx-h100", "gcp-a3-high", "azure-nd-mi300x",
      "alps-gh200", "piz-daint", "dgx-b200", "minsky",   "owens",       "dgx-h100-superpod"};
  static const std::vector<std::string> kStacks = {
      "ideal",    "gloo",         "mvapich2-gdr", "mvapich2-gdr-opt",
      "nccl-2.3", "openmpi-1.10", "mvapich2-2.3", "mpi-host-edr"};
  Question question{.about = Question::About::kCollective};
  switch (dice.whole(0, 3)) {
    case 0:
      question.platform = random_generator(dice);
      question.stack = "ideal";
      break;
    case 1:
      question.platform = dice.of(kPresets);
      question.stack = dice.in_ten(6) ? "nccl" : dice.of(kStacks);
      break;
    default:
      question.platform = platform(dice, number);
      question.stack = dice.of(kStacks);
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
  const std::int64_t most = std::min<std::int64_t>(built.slot_count(), dice.in_ten(1) ? 256 : 48);
  if (most < 2) refuse("--platform", question.platform, "must have two ranks at least");
  question.ranks = {dice.whole(2, most)};
  question.bytes = {dice.whole(1, 50) == 1 ? 0
                                           : static_cast<std::int64_t>(dice.logarithmic(1, 3e8))};
  return question;
}

Question CaseMaker::training(Dice& dice, std::uint64_t number) const {
  static const std::vector<std::string> kPresets = {
      "kesch",    "owens",    "minsky",      "susitna",   "dgx-1-v100",
      "dgx-a100", "dgx-h100", "taurus-smp4", "piz-daint", "cluster-b"};
  static const std::vector<std::string> kModels = {"cifar10-quick", "alexnet", "googlenet",
                                                   "resnet-50", "mobilenet-v1"};
  static const std::vector<std::string> kSystems = catalogue("algorithms/systems");
  Question question;
  question.platform = dice.in_ten(3) ? platform(dice, number) : dice.of(kPresets);
  question.system = dice.of(kSystems);
  question.model = dice.of(kModels);
  question.scaling = dice.in_ten(5) ? Scaling::kWeak : Scaling::kStrong;
  const std::int64_t most =
      std::min<std::int64_t>(load_platform(question.platform).slot_count(), 20);
  if (most < 2) refuse("--platform", question.platform, "must have two ranks at least");
  question.gpus = {dice.whole(2, most)};
  const std::int64_t each = std::int64_t{1} << dice.whole(0, 5);
  question.batch = question.scaling == Scaling::kWeak ? each : each * question.gpus.front();
  return question;
}

void CaseMaker::vary_machine(Dice& dice, Case& made) {
  const std::map<std::string, NumberSource> numbers = machine_numbers(made.question);
  const double faster = dice.logarithmic(1.05, 4);
  const bool all = dice.in_ten(3);
  Variant wider{.relation = "higher rates", .question = made.question};
  Variant sooner{.relation = "shorter times", .question = made.question};
  const double stretch = dice.of(std::vector<double>{0.25, 0.5, 2, 3});
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
    less.question.bytes = {dice.whole(1, made.question.bytes.front() - 1)};
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
  for (int rank = 0; rank < made.question.ranks.front(); ++rank)
    moved.question.slots.push_back((rank + slots / 2) % slots);
  moved.question.ranks.clear();
  made.variants.push_back(moved);
}

Case CaseMaker::make(std::uint64_t number) const {
  Dice dice(seed_ * 1'000'003 + number);
  while (true) {
    try {
      Case made{.number = number,
                .question = dice.in_ten(7) ? collective(dice, number) : training(dice, number),
                .variants = {}};
      made.question = in_other_words(made.question);
      vary_machine(dice, made);
      vary_size(dice, made);
      move(made);
      return made;
    } catch (const InputError&) {
      continue;  // no such plan on so many ranks, no GPUs, ...
    }
  }
}

bool contends(const Answer& answer) {
  if (answer.about == Question::About::kTraining) return true;
  const CollectiveAnswer& call = answer.collective;
  if (!call.cost_engine_s || !call.simulated_s) return true;
  return std::abs(*call.simulated_s / *call.cost_engine_s - 1) > kRounding;
}

std::string text_of(const Answer& answer) {
  return answer.about == Question::About::kTraining ? nlohmann::json(answer.training).dump()
                                                    : nlohmann::json(answer.collective).dump();
}

double folded_error(const Answer& answer) {
  return answer.collective.folded_error + answer.training.folded_error;
}

class Campaign {
 public:
  void run(const std::vector<Case>& cases);
  // Whether all held.
  bool report(std::uint64_t drawn) const;

 private:
  // `low` must not be above `high` by more than `allowed`.
  struct Bounded {
    std::string relation;
    double low = 0;
    double high = 0;
    double allowed = kRounding;
    double excess() const { return high > 0 ? low / high - 1 : low; }
  };
  bool holds(const Bounded& times);
  void tell(const Case& made, const Bounded& times, const Question& changed);
  void look_at(const Case& made, const Answer& answer);
  void compare(const Case& made, const Variant& variant, const Answer& itself,
               const Answer& changed);
  Question with_few_numbers(const Case& made, const Variant& variant, double least);

  std::map<std::string, Counts> counts_;
  std::map<std::string, std::uint64_t> refused_;
  std::uint64_t answered_ = 0;
};

const AskSettings kQuietly{
    .label = "", .keep_failures = true, .engines = Engines::kBoth, .cpu_limit_s = kCpuLimit_s};

bool Campaign::holds(const Bounded& times) {
  Counts& counts = counts_[times.relation];
  const double excess = times.excess();
  if (excess > kRounding) counts.worst = std::max(counts.worst, excess);
  if (!(excess <= times.allowed)) {
    ++counts.violated;
    return false;
  }
  if (excess > kRounding) ++counts.anomalies;
  ++counts.held;
  return true;
}

void Campaign::tell(const Case& made, const Bounded& times, const Question& changed) {
  const std::filesystem::path file = made.question.platform;
  if (std::filesystem::exists(file)) {
    std::filesystem::create_directories(kFindings);
    std::filesystem::copy_file(file, kFindings / file.filename(),
                               std::filesystem::copy_options::overwrite_existing);
  }
  fmt::print("case {}: {}: violated by {:.3g} % ({:.9g} s, {:.9g} s)\n  {}\n", made.number,
             times.relation, 100 * times.excess(), times.low, times.high,
             command_of(made.question));
  if (!(changed == made.question)) fmt::print("  {}\n", command_of(changed));
  std::fflush(stdout);
}

// The variant with as few numbers scaled as still make it slower by half of `least`.
Question Campaign::with_few_numbers(const Case& made, const Variant& variant, double least) {
  Question few = variant.question;
  for (size_t run = few.number_scales.size() / 2; run > 0; run /= 2)
    for (auto first = few.number_scales.begin(); first != few.number_scales.end();) {
      Question fewer = few;
      const auto from = fewer.number_scales.find(first->first);
      auto to = from;
      for (size_t i = 0; i < run && to != fewer.number_scales.end(); ++i) ++to;
      const std::string next = to == fewer.number_scales.end() ? "" : to->first;
      fewer.number_scales.erase(from, to);
      Asker asker;
      const std::vector<RangedAnswer> answers = asker.ask({made.question, fewer}, kQuietly);
      const bool still = answers[1].nominal.is_there() &&
                         answers[1].nominal.time_s() / answers[0].nominal.time_s() - 1 > least / 2;
      if (still) few = fewer;
      first = next.empty() ? few.number_scales.end() : few.number_scales.find(next);
    }
  return few;
}

// A rank of the simulator adds what arrives first, one of the cost engine what comes first in the
// plan: they differ where messages overtake each other.
bool reduces_by_arrival(const Question& question) {
  const Stack stack = load_machine(question, {}).stack;
  const ReductionRule& rule = stack.reduction;
  return rule.place != ReductionPlace::kFree && rule.overlaps_transfer;
}

// What has to hold in one answer.
void Campaign::look_at(const Case& made, const Answer& answer) {
  std::vector<Bounded> all;
  if (answer.about == Question::About::kCollective) {
    const CollectiveAnswer& call = answer.collective;
    all.push_back({.relation = "not below the bound", .low = call.bound_s, .high = call.time_s});
    if (call.cost_engine_s && call.simulated_s)
      all.push_back({.relation = "not below the cost engine",
                     .low = *call.cost_engine_s,
                     .high = *call.simulated_s,
                     .allowed = reduces_by_arrival(made.question) ? kAnomaly
                                                                  : kRounding + call.folded_error});
  } else {
    const PredictionPoint& point = answer.training;
    all.push_back(
        {.relation = "not below the bound", .low = point.bound_s, .high = point.iteration_s});
    double sum_s = 0;
    for (const auto& [phase, time_s] : point.root_s) sum_s += time_s;
    const bool is_asynchronous = load_inputs(made.question, {}).schedule->is_asynchronous;
    if (!is_asynchronous) {
      all.push_back(
          {.relation = "phases are the iteration", .low = sum_s, .high = point.iteration_s});
      all.push_back(
          {.relation = "phases are the iteration", .low = point.iteration_s, .high = sum_s});
    }
  }
  for (const Bounded& times : all)
    if (!holds(times)) tell(made, times, made.question);
}

void Campaign::compare(const Case& made, const Variant& variant, const Answer& itself,
                       const Answer& changed) {
  const bool may_reorder =
      variant.expected == Variant::kNotSlower && (contends(itself) || contends(changed));
  const bool follows_arrivals = made.question.about == Question::About::kTraining &&
                                load_inputs(made.question, {}).schedule->follows_arrivals;
  const double anomaly = follows_arrivals ? kAnomalyOfArrivals : kAnomaly;
  const double allowed = std::max(variant.allowed, may_reorder ? anomaly : 0) +
                         folded_error(itself) + folded_error(changed);
  const double expected_s = variant.factor * itself.time_s();
  Bounded times{.relation = variant.relation,
                .low = changed.time_s(),
                .high = expected_s,
                .allowed = allowed};
  if (!holds(times)) tell(made, times, with_few_numbers(made, variant, times.excess()));
  if (variant.expected == Variant::kNotSlower) return;
  std::swap(times.low, times.high);
  if (!holds(times)) tell(made, times, variant.question);
}

void Campaign::run(const std::vector<Case>& cases) {
  std::vector<Question> questions;
  for (const Case& made : cases) {
    questions.push_back(made.question);
    for (const Variant& variant : made.variants) questions.push_back(variant.question);
  }
  Asker asker;
  const std::vector<RangedAnswer> answers = asker.ask(questions, kQuietly);
  std::vector<Question> same;
  for (const Case& made : cases) same.push_back(in_other_words(made.question));
  Asker forgetful;
  const std::vector<RangedAnswer> again = forgetful.ask(same, kQuietly);
  size_t at = 0;
  for (size_t c = 0; c < cases.size(); ++c) {
    const Case& made = cases[c];
    const Answer& itself = answers[at++].nominal;
    const size_t first_variant = at;
    at += made.variants.size();
    if (!itself.is_there()) {
      ++refused_[itself.failure.empty() ? "does not fit in memory" : itself.failure];
      continue;
    }
    ++answered_;
    look_at(made, itself);
    const bool is_same = same[c] == made.question && text_of(again[c].nominal) == text_of(itself);
    if (const Bounded twice{.relation = "asked again, the same bytes", .low = is_same ? 0.0 : 1.0};
        !holds(twice))
      tell(made, twice, same[c]);
    for (size_t i = 0; i < made.variants.size(); ++i) {
      const Answer& changed = answers[first_variant + i].nominal;
      if (changed.is_there())
        compare(made, made.variants[i], itself, changed);
      else
        ++refused_[made.variants[i].relation + ": " + changed.failure];
    }
  }
}

bool Campaign::report(std::uint64_t drawn) const {
  fmt::print("{} cases drawn, {} answered\n", drawn, answered_);
  bool all_held = true;
  for (const auto& [relation, counts] : counts_) {
    fmt::print("{:<28} held {:>6}, of those anomalies {:>4}, violated {:>4}{}\n", relation,
               counts.held, counts.anomalies, counts.violated,
               counts.worst > 0 ? fmt::format(", worst {:.3g} %", 100 * counts.worst) : "");
    all_held = all_held && counts.violated == 0;
  }
  for (const auto& [reason, times] : refused_) fmt::print("no answer {:>6}: {}\n", times, reason);
  return all_held;
}

int run_campaign(const std::vector<std::string>& words) {
  constexpr std::uint64_t kCases = 200;
  const auto number = [&words](size_t place, std::uint64_t fallback) {
    return place < words.size() ? std::stoull(words[place]) : fallback;
  };
  const std::uint64_t cases = number(0, kCases);
  const std::uint64_t seed = number(1, 1);
  const std::uint64_t first = number(2, 0);

  const ScratchFolder folder("metamorphic");
  const CaseMaker maker(seed, folder.path());
  Campaign campaign;
  std::vector<Case> made;
  ProgressLine progress("asking", cases);
  for (std::uint64_t i = 0; i < cases; ++i) {
    made.push_back(maker.make(first + i));
    if (made.size() < kCasesAtOnce && i + 1 < cases) continue;
    campaign.run(made);
    made.clear();
    progress.done(i + 1);
  }
  return campaign.report(cases) ? 0 : 1;
}

}  // namespace
}  // namespace forescale::testing

int main(int argc, char** argv) {
  try {
    return forescale::testing::run_campaign({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "metamorphic: {}\n", error.what());
    return 2;
  }
}
