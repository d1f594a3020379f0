// The best plan for a collective by rank count and size: every registered algorithm with its
// options, searched by branch and bound.
//
// Method. The candidates of a question are all algorithms of the operation that serve it, with
// chunk sizes of 16 KiB and its doublings (at most kChunksMax chunks), chain sizes of 2 and its
// doublings, and hierarchies of two and three levels. Each has a lower bound: the largest of
//   what the operation needs whatever the algorithm (sim/bounds.hpp),
//   what its messages need of every link and cap, all in flight together, and
//   its time without contention (sim/cost_engine.hpp), where that engine can price the stack.
// The simulator then runs candidates by growing bound; one is dropped only when its bound is at
// least the best simulated time, and, for algorithms other than the winner, the time of the second
// best algorithm. Nothing is drawn at random: the same question has the same answer.
//
// Where a stack knows what its library can be told to take, that is searched instead
// (studies/tune/tune_alternatives.hpp): plans that no user can have are no advice.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "studies/execute/executed_collectives.hpp"

namespace forescale {

inline constexpr std::int64_t kChunksMax = 2048;

struct TuneQuestion {
  CollectiveOp op = CollectiveOp::kAllReduce;
  int ranks = 0;  // of a group: the platform's first slots
  std::int64_t bytes = 0;
  int groups = 1;  // that call at once, on the slots that follow (place_groups())
  bool operator==(const TuneQuestion&) const = default;

  // With `plan`, or as the stack chooses where it is empty.
  Question asked(const std::string& plan = "") const;
};

// The slots of ranks 0 to `ranks` - 1, group after group (sim/ask/rank_split.hpp).
void place_groups(MachineScenarios& machine, const std::vector<std::vector<int>>& groups);

// All candidates of a question.
std::vector<PlanChoice> tune_candidates(const TuneQuestion& question);

struct TunedPlan {
  // plan_text(), or what the library is told: AlternativeChoice::text(), kOwnChoice; empty: what
  // the stack's rules take.
  std::string plan;
  TimeRange time;  // simulated; its ends are those of uncertain numbers
};

struct TunedChoice {
  TunedPlan best;
  std::optional<TunedPlan> next =
      {};  // the best of algorithms that do not have it; none: there is none
  // Nominal seconds of all plans that are within the tolerance of the best, by plan.
  std::map<std::string, double> near = {};

  // Slower by so much than the best, nominally: 0.1 is 10 %.
  double margin(const TunedPlan& other) const { return other.time.time_s / best.time.time_s - 1; }
  // Whether `other` is as fast, or uncertain numbers can make it so.
  bool is_tie(const TunedPlan& other) const;
};

struct TunedPoint {
  TuneQuestion question;
  TunedChoice known = {};                       // of all plans
  std::optional<TunedChoice> offered = {};      // of those that a library has; none: not asked
  std::optional<TunedPlan> stack_default = {};  // none: the stack has no rule
  std::string own = {};  // the alternative that the library's own choice is; empty: not known
  int candidates = 0;
  int simulated = 0;  // of those; the others' bounds exceed the winner
};

// What a library offers for a question; empty where it leaves none to choose.
using OfferedPlans = std::function<std::vector<PlanChoice>(const TuneQuestion&)>;

// Of one question. `machine` are the scenarios of load_machines(); call it in a process that has no
// simulation of its own (sim/isolate.hpp). `offered` may be null.
TunedPoint tune_point(const TuneQuestion& question, const MachineScenarios& machine,
                      const OfferedPlans& offered, double tolerance);

void to_json(nlohmann::json& text, const TunedPoint& point);
void from_json(const nlohmann::json& text, TunedPoint& point);

// Of all questions, in processes of their own. What `answered` has is not asked again. `on_point`
// is told each new answer, in the process that has found it, so that it can be kept at once.
std::vector<TunedPoint> tune_collective(const std::vector<TuneQuestion>& questions,
                                        const MachineScenarios& machine,
                                        const OfferedPlans& offered, double tolerance,
                                        const std::vector<TunedPoint>& answered,
                                        const std::function<void(const TunedPoint&)>& on_point);

// Neighbouring sizes with one plan.
struct TunedRegion {
  CollectiveOp op = CollectiveOp::kAllReduce;
  int ranks = 0;                // of a group
  int groups = 1;               // at once
  std::int64_t from_bytes = 0;  // of the first region: the first size asked
  // Inclusive: up to halfway, by ratio, to the next size asked; of the last region the last size.
  std::int64_t to_bytes = 0;
  std::string plan;
  std::int64_t asked_bytes = 0;  // the first size that was asked
  double loss_max = 0;           // how much slower than the best plan known for a size: 0.01 is 1 %

  TuneQuestion question(std::int64_t bytes) const {
    return {.op = op, .ranks = ranks, .bytes = bytes, .groups = groups};
  }
};
// By rank count and size, of `known` or of `offered`. A size for which the plan of the size before
// is within `tolerance` of the best stays with that: rules do not flip for less. A region of what a
// library is told begins with what is near the best of the most sizes after it. Points without the
// choice asked for end a region and begin none.
enum class TunedOf { kKnown, kOffered };
std::vector<TunedRegion> tuned_regions(const std::vector<TunedPoint>& points, TunedOf of,
                                       double tolerance);

}  // namespace forescale
