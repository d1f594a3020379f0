// Collectives as cases for two engines: the simulator and real MPI. Both walk the same plans; what
// each says is put side by side by collective_comparison.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/plan_choice.hpp"
#include "models/stack.hpp"
#include "sim/ask/ask.hpp"
#include "topologies/platform.hpp"

namespace forescale {

// Ring, recursive halving-doubling, binomial trees, a chunked chain and CB-4.
std::vector<std::string> default_plans();

struct CollectiveQuestion {
  PlanChoice plan;
  int ranks = 0;
  std::int64_t bytes = 0;

  CollectiveCall call() const;
  // On a machine that is known otherwise.
  Question asked() const;
};

struct CollectiveQuestions {
  std::vector<CollectiveQuestion> asked;
  std::vector<std::string> refused;  // "all-reduce/halving-doubling, 3 ranks: why"
};
// Every plan at every rank count and size, in that order. What a plan refuses is left out and said
// once for each rank count. InputError for sizes that are no whole FP32 elements, rank counts
// below 2, and when nothing is left.
CollectiveQuestions make_questions(const std::vector<PlanChoice>& plans,
                                   const std::vector<std::int64_t>& ranks,
                                   const std::vector<Bytes>& sizes);

// A platform and its stack by Draws::kEnds: with their nominal numbers first, then, if at all, with
// all uncertain ones at their fast and at their slow ends.
using MachineScenarios = std::vector<QuestionMachine>;
// Texts as --platform and --stack take them.
MachineScenarios load_machines(const std::string& platform, const std::string& stack);
// What of them there is to ask.
Draws draws_of(const MachineScenarios& machine);

// By question, simulated in processes of their own. InputError naming --ranks where the platform
// has fewer.
std::vector<TimeRange> predict_collectives(const std::vector<CollectiveQuestion>& questions,
                                           const MachineScenarios& machine);

struct ExecutedTime {
  TimeRange median;
  double p10_s = 0;
  double p90_s = 0;
  int samples = 0;
};

struct ExecutionSettings {
  double budget_s = 60;
  int repetitions_min = 3;  // of each question, as long as the budget lasts
  double nap_s = 0;         // between polls; 0: spin
  int channels = 1;
  std::uint64_t seed = 1;  // of the order in which questions are executed
};

// The request to the MPI program (calibrate/bench/request.hpp). Questions come in a random order,
// so that drift of the machine is not taken for an effect of size: order[i] is the question of the
// i-th case.
struct ExecutionRequest {
  nlohmann::json request;
  std::vector<size_t> order;
};
ExecutionRequest execution_request(const std::vector<CollectiveQuestion>& questions,
                                   const ExecutionSettings& settings);

struct ExecutedCollective {
  std::optional<ExecutedTime> time;  // none: `note` says why
  std::string note;
};

struct Execution {
  std::string library;                          // "Open MPI 4.1.4"
  std::vector<ExecutedCollective> collectives;  // by question
  std::string failure = {};                     // why it is not whole; empty: it is
};
// What the MPI program answered, whole or as far as it came. CheckFailed when any sum is wrong,
// naming the first; InputError naming `source` for what is no such answer.
Execution read_execution(const std::string& answer, const std::string& source,
                         const std::vector<CollectiveQuestion>& questions,
                         const std::vector<size_t>& order);

// Runs the request under `command` (a launcher with its arguments and the MPI program), which must
// start as many ranks as the largest question needs.
Execution execute_collectives(const std::vector<CollectiveQuestion>& questions,
                              const ExecutionSettings& settings,
                              const std::vector<std::string>& command,
                              const std::function<void(const std::string&)>& on_progress);

}  // namespace forescale
