// What the messages of a collective between its nodes find on the fabric: whether one could be in
// another's way there, and how long they take.
#pragma once

#include "sim/resolved_call.hpp"

namespace forescale {

struct FabricUse {
  // No link that belongs to no node, and no cap on all of them, is too narrow for all messages of
  // the call that could cross it at once.
  bool nodes_share_nothing = true;
  // Latencies of the routes between nodes, a way each.
  double least_s = 0;
  double most_s = 0;
  // Of a ring, what arrives last: the latencies of its ways between nodes, and how many they are.
  // It goes around (all-reduce: twice) but for the last way (the last two), so that the shortest
  // are left out. Of the part where that takes longest.
  double last_s = 0;
  double last_ways = 0;
};

// Of a ring, or of another plan whose peers do not depend on the bytes.
FabricUse fabric_use(const ResolvedCall& resolved);

}  // namespace forescale
