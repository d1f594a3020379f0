// What the messages of a collective between its nodes find on the fabric: whether one could be in
// another's way there, and how long they take.
#pragma once

#include <map>
#include <set>

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

// Of a ring, or of another plan whose peers do not depend on the bytes; of all groups that call at
// once.
FabricUse fabric_use(const ResolvedCall& resolved);

// What may cross a link between switches at once, by the links with which messages leave a node and
// enter one: together they carry no more than those do.
class FabricLoad {
 public:
  void add(const Platform& platform, const Lane& lane);  // that crosses it
  double at_most(const Lanes& lanes) const;              // bytes/s

 private:
  std::map<Resource, double> by_leaving_;
  std::map<Resource, double> by_entering_;
};
bool is_between_switches(const Platform& platform, const Resource& resource);

// The roles that a role of the plan sends to, of few bytes.
std::set<int> receivers(const ResolvedCall& resolved, int role);

}  // namespace forescale
