// Members of a call that do the same on GPUs and links that are alike: one of them stands for all.
// A member is a rank's role in a part of the call.
//
// Parts: NCCL's rings start at each GPU of a node, and turning the GPUs of every node takes one
// part to another. The first stands for all, or the first few each for as many: of the 16 of a
// rack's 72 GPUs, which start four or five GPUs from each other, two stand for eight each, itself
// and every second after it. Roles: turning the nodes takes each role of a ring, or of an exchange
// of all with all, to another (algorithms/role_turn.hpp). The first block of them stands for all,
// its messages as those that arrive in it.
//
// What they use is turned with them. At every moment as many messages of all these members together
// cross each of the links that are turned into each other, so one of these stands for them: with as
// much of its capacity as messages of one member are of all that cross it. Which of two comes first
// at a port at the same moment must not matter.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "algorithms/role_turn.hpp"
#include "sim/engine/lanes.hpp"

namespace forescale {

// Nothing of others crosses it.
inline bool is_of_a_member(const Resource& resource) {
  return resource.kind == ResourceKind::kConnection || resource.kind == ResourceKind::kChannel;
}

struct AlikeMembers {
  struct Standing {
    Resource resource;
    double share = 1;  // of its capacity
  };

  int parts = 1;        // of the call, for which one stands
  RoleTurn turn = {};   // of roles, and as far of the group's ranks
  bool is_even = true;  // else some parts have an element more, and all take a little else
  // Of what messages of those that stand for others cross; what is not here, of connections and
  // channels, is a member's own.
  std::map<Resource, Standing> standing = {};
  std::vector<int> ranks =
      {};  // by rank, the one whose ports, proxy thread and timeline are its own
  std::map<int, int> senders = {};  // by device, the one that sends in its place

  // For which one stands.
  int count() const { return parts * turn.blocks; }
  // Whether messages of several share a link, or could.
  bool meet() const {
    return std::any_of(standing.begin(), standing.end(),
                       [](const auto& each) { return each.second.share < 1; });
  }
};

}  // namespace forescale
