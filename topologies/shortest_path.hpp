// Shortest paths with a rule: some vertices are ends only, never on the way (GPUs, NICs, hosts).
//
// Fewest hops first, least latency among equals: the weight of an arc is 1 + latency in seconds,
// of which at most a millisecond counts. Dijkstra of the Boost Graph Library, which stays in the
// .cpp. Deterministic.
#pragma once

#include <vector>

#include "topologies/platform.hpp"

namespace forescale {

// One direction of a link.
struct Arc {
  int tail = 0;
  int head = 0;
  Capacity capacity = 0;
  Seconds latency;
  BytesPerSecond bandwidth;
};

// Both arcs of each link; of a half-duplex link they share the even capacity. `first_link` is the
// number of links[0] inside the platform.
std::vector<Arc> arcs_of(const std::vector<Link>& links, const std::vector<LinkClass>& classes,
                         int first_link);

struct PathProblem {
  int vertex_count = 0;
  std::vector<Arc> arcs;
  std::vector<char> may_transit;  // per vertex
};

// Per vertex the number of the arc by which the shortest path from `source` enters it; -1 for the
// source itself and for what cannot be reached.
std::vector<int> arrivals_from(const PathProblem& problem, int source);

// The route from the source of `arrivals` to `target`, which must be reachable.
Route walk_back(const PathProblem& problem, const std::vector<int>& arrivals, int target);

}  // namespace forescale
