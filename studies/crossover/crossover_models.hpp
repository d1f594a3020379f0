// Two algorithms of one collective against each other, by three models of time.
//
//   equations    the registered closed forms (S-Caffe section 5: T(Bin) = ceil(log2 P) t(b),
//                T(CC) = (n + P - 2) t(c)) with one step time t for every pair of ranks
//   cost engine  every message at the cost of its own lane, nothing contends
//   simulator    every message, sharing links, engines and memory with the others
//
// t(b), where no step is common to all pairs: the narrowest lane between neighbours r and r-1, in
// terms that are added one by one, so that what moves a crossing has a name. Between the chunk and
// the whole message t is taken as affine, which is exact at both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/ask/ask.hpp"
#include "sim/resolved_call.hpp"
#include "studies/crossover/crossover_search.hpp"

namespace forescale {

struct Contest {
  const QuestionMachine* machine = nullptr;
  CollectiveOp op = CollectiveOp::kReduce;
  PlanChoice first;  // of these chunks, where they read them
  PlanChoice second;
  int ranks = 0;
  std::int64_t chunk_bytes = 0;
  ChunkRange range;

  const PlanChoice& plan(size_t which) const { return which == 0 ? first : second; }
  std::vector<int> slots() const { return first_slots(machine->platform, ranks).slots; }
  CollectiveCall call(const PlanChoice& plan, std::int64_t chunks) const;
  ResolvedCall resolved(const PlanChoice& plan, const Lanes& lanes, std::int64_t chunks) const;
};

struct ContestTimes {
  double first_s = 0;
  double second_s = 0;
  // By more than rounding.
  bool first_beats_second() const { return first_s < second_s * (1 - 1e-9); }
};

// The terms of t(b) on lanes that differ.
enum class StepTerm { kWire, kMessageOverheads, kStaging, kReduction };
inline constexpr int kStepTermCount = 4;
const char* name_of(StepTerm term);

struct StepTimes {
  double terms_s[kStepTermCount] = {};  // by StepTerm, of one message
  double bandwidth_bytes_per_s = 0;
  std::string from;  // names of the neighbours
  std::string to;
};
// The narrowest lane between neighbours for messages of that size.
StepTimes neighbour_step(const Contest& contest, const Lanes& lanes, std::int64_t bytes);

// With the common step if there is one, else with the terms up to and including `last`; nothing
// where an algorithm has no closed form.
std::optional<ContestTimes> equation_times(const Contest& contest, const Lanes& lanes,
                                           std::int64_t chunks, StepTerm last);

// Nothing where the cost engine cannot price one of the two (ResolvedCall::why_not_priced()).
std::optional<ContestTimes> cost_engine_times(const Contest& contest, const Lanes& lanes,
                                              std::int64_t chunks);

struct SimulatedTimes : ContestTimes {
  std::string busiest[2];  // of the first and the second algorithm
  double busiest_share[2] = {};
};
// Of one contest, each size once, in processes of their own.
class SimulatedContest {
 public:
  explicit SimulatedContest(const Contest& contest)
      : contest_(contest), machines_{*contest.machine}, asker_(machines_) {}
  SimulatedTimes times(std::int64_t chunks);

 private:
  const Contest& contest_;
  const std::vector<QuestionMachine> machines_;
  Asker asker_;
};

// The lane rules that the messages of both algorithms use, and how often.
struct LaneUse {
  const PathRule* rule = nullptr;
  std::uint64_t first_messages = 0;
  std::uint64_t second_messages = 0;
};
struct PlanUse {
  std::vector<LaneUse> lanes;
  bool reduces = false;
};
PlanUse plan_use(const Contest& contest, const Lanes& lanes, std::int64_t chunks);

}  // namespace forescale
