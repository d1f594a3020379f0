#include "studies/execute/executed_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "base/error.hpp"
#include "calibrate/measure/mpi_launch.hpp"
#include "sim/ask/inputs.hpp"

namespace forescale {
namespace {

using nlohmann::json;

std::string refusal_of(const CollectiveQuestion& question) {
  try {
    check_call(*question.plan.collective, question.call());
  } catch (const InputError& error) {
    return error.parts().constraint;
  }
  return "";
}

void check_counts(const std::vector<std::int64_t>& ranks, const std::vector<Bytes>& sizes) {
  for (const std::int64_t count : ranks)
    if (count < 2)
      throw InputError({.source = "--ranks",
                        .path = "",
                        .value = std::to_string(count),
                        .constraint = "must be >= 2: one rank has nobody to talk to"});
  for (const Bytes size : sizes)
    if (size.value < 4 || size.value % 4 != 0)
      throw InputError({.source = "--bytes",
                        .path = "",
                        .value = std::to_string(size.value),
                        .constraint = "must be whole FP32 elements of 4 bytes, at least one"});
  constexpr std::int64_t kBytesMax = std::int64_t{1} << 30;
  for (const Bytes size : sizes)
    if (size.value > kBytesMax)
      throw InputError({.source = "--bytes",
                        .path = "",
                        .value = to_text(size),
                        .constraint = "must be <= 1 GiB: every rank holds that much in memory"});
}

ExecutedCollective read_case(const JsonInput& answer) {
  ExecutedCollective executed;
  if (const auto note = answer.find("error")) executed.note = note->string();
  if (answer.has("time_s"))
    executed.time = {.median = {.time_s = answer.at("time_s").number(0),
                                .low_s = answer.at("low_s").number(0),
                                .high_s = answer.at("high_s").number(0)},
                     .p10_s = answer.at("p10_s").number(0),
                     .p90_s = answer.at("p90_s").number(0),
                     .samples = static_cast<int>(answer.at("samples").integer(0))};
  return executed;
}

std::string described(const CollectiveQuestion& question) {
  return fmt::format("{} on {} ranks, {}", plan_text(question.plan), question.ranks,
                     to_text(Bytes{question.bytes}));
}

}  // namespace

std::vector<std::string> default_plans() {
  return {"all-reduce/ring",
          "all-reduce/halving-doubling",
          "reduce/binomial",
          "broadcast/binomial",
          "reduce/chain:chunk_bytes=64KiB",
          "reduce/cb:chain_size=4,chunk_bytes=64KiB"};
}

CollectiveCall CollectiveQuestion::call() const {
  return {.rank_count = ranks, .bytes = bytes, .options = plan.options};
}

Question CollectiveQuestion::asked() const {
  return {.about = Question::About::kCollective,
          .plan = plan_text(plan),
          .ranks = {ranks},
          .bytes = {bytes}};
}

CollectiveQuestions make_questions(const std::vector<PlanChoice>& plans,
                                   const std::vector<std::int64_t>& ranks,
                                   const std::vector<Bytes>& sizes) {
  check_counts(ranks, sizes);
  CollectiveQuestions questions;
  for (const PlanChoice& plan : plans)
    for (const std::int64_t count : ranks) {
      std::string refused;
      for (const Bytes size : sizes) {
        const CollectiveQuestion question{
            .plan = plan, .ranks = static_cast<int>(count), .bytes = size.value};
        const std::string reason = refusal_of(question);
        if (reason.empty())
          questions.asked.push_back(question);
        else
          refused = reason;
      }
      if (!refused.empty())
        questions.refused.push_back(
            fmt::format("{} on {} ranks: {}", plan_text(plan), count, refused));
    }
  if (questions.asked.empty())
    throw InputError({.source = "--plans",
                      .path = "",
                      .value = "",
                      .constraint = questions.refused.empty()
                                        ? "leaves nothing to execute"
                                        : "leaves nothing to execute: " + questions.refused[0]});
  return questions;
}

MachineScenarios load_machines(const std::string& platform, const std::string& stack) {
  MachineScenarios machines;
  for (const Scenario& scenario : Draws::kEnds.scenarios())
    machines.push_back(load_machine(
        {.about = Question::About::kCollective, .platform = platform, .stack = stack}, scenario));
  return machines;
}

Draws draws_of(const MachineScenarios& machine) {
  return machine.size() > 1 ? Draws::kEnds : Draws::kNominal;
}

std::vector<TimeRange> predict_collectives(const std::vector<CollectiveQuestion>& questions,
                                           const MachineScenarios& machine) {
  std::vector<std::int64_t> ranks;
  for (const CollectiveQuestion& question : questions) ranks.push_back(question.ranks);
  check_ranks(machine.front().platform, ranks, "--ranks");
  std::vector<Question> asked;
  for (const CollectiveQuestion& question : questions) asked.push_back(question.asked());
  std::vector<TimeRange> ranges;
  for (const RangedAnswer& answer :
       Asker(machine).ask(asked, {.label = "predicting", .draws = draws_of(machine)}))
    ranges.push_back(answer.time());
  return ranges;
}

ExecutionRequest execution_request(const std::vector<CollectiveQuestion>& questions,
                                   const ExecutionSettings& settings) {
  ExecutionRequest result;
  result.order.resize(questions.size());
  std::iota(result.order.begin(), result.order.end(), 0);
  // Not std::shuffle: its order differs between standard libraries.
  std::mt19937_64 random(settings.seed);
  for (size_t i = result.order.size(); i > 1; --i)
    std::swap(result.order[i - 1], result.order[random() % i]);
  json cases = json::array();
  for (const size_t i : result.order) {
    const CollectiveQuestion& question = questions[i];
    cases.push_back({{"plan", plan_text(question.plan)},
                     {"ranks", question.ranks},
                     {"bytes", question.bytes},
                     {"root", 0}});
  }
  result.request = {{"format", "forescale-mpi-request-1"},
                    {"task", "collectives"},
                    {"wait", {{"nap_s", settings.nap_s}}},
                    {"channels", settings.channels},
                    {"budget_s", settings.budget_s},
                    {"repetitions_min", settings.repetitions_min},
                    {"cases", cases}};
  return result;
}

Execution read_execution(const std::string& answer, const std::string& source,
                         const std::vector<CollectiveQuestion>& questions,
                         const std::vector<size_t>& order) {
  const JsonInput in = JsonInput::from_text(answer, source);
  in.at("format").one_of({"forescale-executed-1"});
  Execution execution;
  execution.library = in.at("library").string();
  const std::string kUnreached = "not executed: the run ended before it";
  execution.collectives.assign(questions.size(), {.time = {}, .note = kUnreached});
  const std::vector<JsonInput> cases = in.at("cases").elements();
  if (cases.size() > order.size())
    in.at("cases").fail(fmt::format("must hold at most the {} cases asked for", order.size()));
  size_t wrong = 0;
  std::string first_wrong;
  for (size_t i = 0; i < cases.size(); ++i) {
    const size_t asked = order[i];
    execution.collectives[asked] = read_case(cases[i]);
    if (!execution.collectives[asked].time || cases[i].at("is_correct").boolean()) continue;
    if (++wrong == 1)
      first_wrong =
          fmt::format("{}: {}", described(questions[asked]), execution.collectives[asked].note);
  }
  if (wrong > 0)
    throw CheckFailed(fmt::format("{} of {} collectives gave a wrong result; the first: {}", wrong,
                                  cases.size(), first_wrong));
  return execution;
}

Execution execute_collectives(const std::vector<CollectiveQuestion>& questions,
                              const ExecutionSettings& settings,
                              const std::vector<std::string>& command,
                              const std::function<void(const std::string&)>& on_progress) {
  // A launcher that starts ranks slowly, and a last repetition that takes longer than expected.
  constexpr double kTimeoutBeyondBudget_s = 120;
  const ExecutionRequest request = execution_request(questions, settings);
  const MpiOutcome outcome = run_mpi(command, request.request.dump(1), on_progress,
                                     settings.budget_s + kTimeoutBeyondBudget_s);
  Execution execution;
  if (outcome.answer.empty()) {
    execution.collectives.assign(questions.size(), {.time = {}, .note = outcome.failure});
    execution.failure =
        outcome.failure.empty() ? "the MPI program left no answer" : outcome.failure;
    return execution;
  }
  execution = read_execution(outcome.answer, "the MPI program's answer", questions, request.order);
  execution.failure = outcome.failure;
  return execution;
}

}  // namespace forescale
