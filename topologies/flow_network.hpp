// Maximum flow = minimum cut of a small network, by push-relabel of the Boost Graph Library.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace forescale {

// Whole units of flow, so that the result is exact.
using Flow = std::int64_t;

class FlowNetwork {
 public:
  static constexpr int kSource = 0;
  static constexpr int kSink = 1;

  // The vertex of a device, new when it is asked for the first time.
  int vertex(int device);
  // Capacities between the same two vertices add up. Their sum must stay below 2^62.
  void add_both_ways(int vertex_a, int vertex_b, Flow capacity);
  Flow max_flow() const;

 private:
  int vertex_count_ = 2;
  std::map<int, int> vertices_;  // by device
  std::map<std::pair<int, int>, Flow> capacities_;
};

}  // namespace forescale
