// Physical floors: no answer may be below them.
//
// Counted from the definition of each operation, whatever the algorithm:
//   bytes  every byte that must leave or enter a rank or a node crosses that rank's or node's
//          narrowest cut; what must be moved in total crosses all ranks' (nodes') links together.
//          Of a group with some GPUs of its nodes, those links that its messages can take
//   time   one message's alpha for any result that depends on another rank; ceil(log2 P) of them
//          where the alpha holds the ports (one-port model)
// Where a protocol of the stack lets switches add and copy, a byte of a message takes less than a
// byte of a link (wire_factor < 1), and so do the floors.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "algorithms/collective.hpp"
#include "sim/engine/lanes.hpp"
#include "sim/resolved_call.hpp"

namespace forescale {

struct Bound {
  double time_s = 0;
  std::string reason;  // "10.5 MB into node0 over 12 GB/s"
};

// The least that a byte of any message takes of a link.
double least_wire_factor(const Stack& stack);

// Of one collective, rank i of the call on slots[i].
Bound collective_bound(CollectiveOp op, const CollectiveCall& call, const Lanes& lanes,
                       BufferPlace place, std::span<const int> slots);
Bound collective_bound(const ResolvedCall& call);

// Of messages, bytes by (from, to) rank, all in flight together.
Bound message_bound(const std::map<std::pair<int, int>, double>& bytes, const Lanes& lanes);

// Throws CheckFailed when `time_s` is below the bound by more than rounding.
void enforce(const Bound& bound, double time_s, const std::string& what);

}  // namespace forescale
