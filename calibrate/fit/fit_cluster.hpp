// From a measurement of a cluster of hosts to the two files that predictions take: a platform
// (who is connected how fast) and a stack (what a message costs beside that).
//
// What each number comes from, for every segment of sizes (breakpoints: the eager limit that late
// receives show, and those that the ping-pong data justify):
//   alpha          the intercepts of ping-pong and of the shift by all ranks; their geometric mean,
//                  and both as the ends of its interval
//   o_send         the intercept of the stream: what one message adds when many follow each other,
//                  at most alpha; the rest of alpha is latency
//                  Where all hosts are on one machine (provenance "shared_cores", C of them) the
//                  same two numbers come from how alpha grows with the ranks at work, o_send being
//                  what runs on those cores: alpha(P) = o_send max(1, P / C) + latency
//   bandwidth      1 / slope of ping-pong: a cap on the connection where it is below the link's
//   duplex cap     2 / slope of the shift of two, where that is below twice the bandwidth
//   fabric cap     P / slope of the shift by all, where that is below what the shift of two moves
//   write, read cap  k b / (time - alpha) of fan-in and fan-out of k, where below the link's
//   link           of each host: the fastest large ping-pong that it took part in; hosts within
//                  10 % of each other share a class
//   trunk          two groups of hosts between which large ping-pongs are slower than within, or
//                  through which k pairs together are; k b / (time - alpha) of the most pairs
//   burst          what a shaper lets pass at once: where eager messages take less time above
//                  alpha than the link's rate needs, the bytes that are missing. It is added back
//                  before the other lines are fitted
//   reduction      one line through a += b
//   memory         between ranks of one host: the largest memory copy
// No collective is looked at.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "calibrate/fit/segmented_fit.hpp"
#include "calibrate/measure/measurement.hpp"

namespace forescale {

struct ClusterFitOptions {
  std::string name = "measured";  // of platform and stack
  std::string emulated_gpu = {};  // a GPU's name: whose compute times the hosts wait out
  // Which switch each rank hangs on, where that is known ("0,0,1,1"); empty: found from the pairs.
  std::vector<int> switches = {};
  // How many hosts, and ranks on each, the platform has; 0 hosts: as many as were measured. Further
  // ones are like the ordinary ones, on the same switch.
  int hosts = 0;
  int ranks_per_host = 1;
};

// One line of the report: a number that was fitted.
struct FittedNumber {
  std::string what;  // "alpha up to 64 KiB"
  std::string from;  // "ping-pong, shift of 8"
  std::string unit;  // "s", "bytes" or "bytes/s"
  double value = 0;
  Interval interval;  // low, high
};

struct ClusterFit {
  nlohmann::json platform;
  nlohmann::json stack;
  std::vector<FittedNumber> numbers;
  std::vector<ResidualClass> residuals;  // of ping-pong and shift together
  std::vector<std::string> warnings;
};

// InputError naming `source` where a pattern that is needed is missing or does not carry a line:
// ping-pong at 3 sizes or more; everything else has a stated fallback and a warning.
ClusterFit fit_cluster(const Measurement& measurement, const std::string& source,
                       const ClusterFitOptions& options);

}  // namespace forescale
