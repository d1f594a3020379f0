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
  double longest_tour_s = 0;  // of a ring: over all its ways, the part that takes longest
};

// Of a ring, or of another plan whose peers do not depend on the bytes.
FabricUse fabric_use(const ResolvedCall& resolved);

}  // namespace forescale
