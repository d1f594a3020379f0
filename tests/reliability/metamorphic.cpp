// Metamorphic campaign: random questions about random machines, and what has to hold between their
// answers whatever the right ones are.
//
//   metamorphic [CASES [SEED [FIRST]]]
//
// Prints every violation with the commands that repeat both answers, with as few changed numbers as
// show it, and a line of counts for each relation and each kind of case at the end. Exit code 1
// with a violation, and where of enough cases none of some kind was answered. Case I of a seed is
// the same in every run.
//
// Where messages wait for each other, less work may take longer, as what comes first changes
// (Graham, Bounds on multiprocessing timing anomalies, 1969): such answers may be slower by
// kAnomaly, and are counted. Where nothing contends nothing may be slower at all.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "algorithms/schedule.hpp"
#include "base/progress.hpp"
#include "base/scratch_folder.hpp"
#include "sim/ask/ask.hpp"
#include "tests/reliability/random_case.hpp"

namespace forescale::testing {
namespace {

constexpr double kCpuLimit_s = 20;  // of a simulation; one that takes longer is no case
constexpr size_t kCasesAtOnce = 50;
constexpr std::uint64_t kCasesOfAllKinds = 40;  // from here on each kind has to be among them
const std::filesystem::path kFindings = "metamorphic-findings";  // their platform files, here

struct KindCounts {
  std::uint64_t drawn = 0;
  std::uint64_t answered = 0;
};

struct Counts {
  std::uint64_t held = 0;
  std::uint64_t anomalies = 0;  // of those held
  std::uint64_t violated = 0;
  double worst = 0;  // anomaly or violation, relative
};

bool contends(const Answer& answer) {
  if (answer.about == Question::About::kTraining) return true;
  const CollectiveAnswer& call = answer.collective;
  if (!call.cost_engine_s || !call.simulated_s) return true;
  return std::abs(*call.simulated_s / *call.cost_engine_s - 1) > kRounding;
}

// It reached the limit of CPU time, which beside other programs it may do the second time alone.
bool took_too_long(const Answer& answer) {
  return answer.failure.find(strsignal(SIGXCPU)) != std::string::npos;
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
  std::map<std::string, KindCounts> kinds_;
  std::map<std::string, std::uint64_t> refused_drawing_;
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
  const bool may_reorder = contends(itself) || contends(changed);
  const bool follows_arrivals = made.question.about == Question::About::kTraining &&
                                load_inputs(made.question, {}).schedule->follows_arrivals;
  const bool is_wave = itself.about == Question::About::kCollective &&
                       itself.collective.op == name_of(CollectiveOp::kAllToAll) &&
                       itself.collective.algorithm == "linear";
  const bool is_training = itself.about == Question::About::kTraining;
  const double anomaly = follows_arrivals ? kAnomalyOfArrivals
                         : is_wave        ? kAnomalyOfWaves
                         : is_training    ? kAnomalyOfTraining
                                          : kAnomaly;
  const double ties = itself.time_s() < kShort_s ? kTiesOfShort : kTies;
  const double reordered = variant.expected == Variant::kScaled ? ties : anomaly;
  const double allowed = std::max(variant.allowed, may_reorder ? reordered : 0) +
                         folded_error(itself) + folded_error(changed);
  const double expected_s = variant.factor * itself.time_s();
  Bounded times{.relation = variant.relation,
                .low = changed.time_s(),
                .high = expected_s,
                .allowed = allowed};
  if (variant.expected == Variant::kNotFaster) {
    std::swap(times.low, times.high);
    if (!holds(times)) tell(made, times, variant.question);
    return;
  }
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
    ++kinds_[made.kind].drawn;
    for (const std::string& reason : made.refused) ++refused_drawing_[reason];
    const bool died = itself.failure.find("died") != std::string::npos && !took_too_long(itself);
    if (const Bounded crash{.relation = "no simulation dies", .low = died ? 1.0 : 0.0};
        !holds(crash))
      tell(made, crash, made.question);
    if (!itself.is_there()) {
      ++refused_[itself.failure.empty() ? "does not fit in memory" : itself.failure];
      continue;
    }
    ++kinds_[made.kind].answered;
    look_at(made, itself);
    const Answer& second = again[c].nominal;
    const bool is_same = same[c] == made.question && text_of(second) == text_of(itself);
    if (const Bounded twice{.relation = "asked again, the same bytes", .low = is_same ? 0.0 : 1.0};
        took_too_long(second))
      ++refused_["asked again: " + second.failure];
    else if (!holds(twice))
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
  std::uint64_t answered = 0;
  for (const auto& [kind, counts] : kinds_) answered += counts.answered;
  fmt::print("{} cases drawn, {} answered\n", drawn, answered);
  bool all_held = true;
  for (const std::string& kind : case_kinds()) {
    const auto found = kinds_.find(kind);
    const KindCounts counts = found == kinds_.end() ? KindCounts{} : found->second;
    fmt::print("{:<28} drawn {:>5}, answered {:>5}\n", kind, counts.drawn, counts.answered);
    if (drawn < kCasesOfAllKinds || counts.answered > 0) continue;
    fmt::print("no case of \"{}\" was answered: what draws them is broken\n", kind);
    all_held = false;
  }
  for (const auto& [relation, counts] : counts_) {
    fmt::print("{:<28} held {:>6}, of those anomalies {:>4}, violated {:>4}{}\n", relation,
               counts.held, counts.anomalies, counts.violated,
               counts.worst > 0 ? fmt::format(", worst {:.3g} %", 100 * counts.worst) : "");
    all_held = all_held && counts.violated == 0;
  }
  for (const auto& [reason, times] : refused_) fmt::print("no answer {:>6}: {}\n", times, reason);
  for (const auto& [reason, times] : refused_drawing_)
    fmt::print("drawn again {:>4}: {}\n", times, reason);
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
