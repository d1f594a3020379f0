// Who is connected how fast: link rates by host and groups of hosts behind a narrower trunk, read
// off ping-pongs between many pairs and off simultaneous pairs.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/measurement.hpp"

namespace forescale {

struct ClusterShape {
  // By rank: the fastest large ping-pong that it took part in, bytes/s. As large messages see it.
  std::vector<double> host_rate;
  std::vector<int> switch_of;  // by rank, numbered from 0 in order of first appearance
  double trunk_rate = 0;       // bytes/s between two switches, all messages together; 0: one switch
  std::vector<std::string> notes = {};  // what was found, in words

  int switch_count() const;
  // Hosts without peculiarity: of the largest switch, within 10 % of its usual rate. By rank.
  std::vector<int> ordinary() const;
};

// From the ping-pongs and pairs in a measurement; `switches` where the user knows them, else empty.
// Rates are b / (time - alpha) at the largest size, alpha the time at the smallest size measured
// between any two. A host without a ping-pong of its own is taken to be like the others.
ClusterShape shape_of(const Measurement& measurement, const std::vector<int>& switches = {});

}  // namespace forescale
