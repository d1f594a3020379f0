// The cost engine: a plan's time where nothing contends, by walking every rank's stream once.
//
// Same cost contract as the simulator (models/stack.hpp), but each message has its lane to itself.
// Streaming: a few hundred bytes a rank, whatever the number of operations. One send and one
// receive at a time; ResolvedCall::why_not_priced() says what is the simulator's.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "algorithms/collective.hpp"
#include "sim/pair_times.hpp"
#include "sim/resolved_call.hpp"

namespace forescale {

struct CostResult {
  double time_s = 0;  // until the last rank has finished; all start at 0
  std::uint64_t operations = 0;
  std::uint64_t messages = 0;
  double bytes_sent = 0;
  MessageSizes sizes;  // of messages
};

// Every pair costs the same. Throws SimulationStuck when the plan cannot finish.
CostResult evaluate_cost(const Collective& collective, const CollectiveCall& call,
                         const StepCost& step);

// Lanes of a platform and stack; rank i of the call sits on slots[i].
CostResult evaluate_cost(const Collective& collective, const CollectiveCall& call,
                         const Lanes& lanes, MessageKind kind, std::span<const int> slots);

// The overhead of the call and what follows. Only where call.why_not_priced() is empty. A plan that
// takes longer than `limit_s` is walked until that shows: time_s is beyond the limit then, and not
// beyond what the plan takes; the rest is not counted.
CostResult evaluate_cost(const ResolvedCall& call,
                         double limit_s = std::numeric_limits<double>::infinity());

}  // namespace forescale
