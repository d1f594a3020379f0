// What `forescale calibrate measure` asks of the MPI program: the patterns that collectives use, on
// enough ranks and sizes for fits; and the measurement that comes back.
//
// No collective of forescale's own is timed, and the library's only where asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibrate/measure/measurement.hpp"

namespace forescale {

struct MeasureOptions {
  int ranks = 8;
  double budget_s = 30;                // for all of it
  std::int64_t bytes_max = 64 << 20;   // of a ping-pong; other patterns stop at 2 MiB
  std::vector<Pattern> patterns = {};  // empty: all but the library's collectives
  bool library_collectives = false;
  // What measure() learns from the ping-pongs of all pairs before it asks for the rest: which ranks
  // small groups are made of first, and the switch of each rank (cluster_shape.hpp).
  enum class Part { kAll, kPairs, kRest } part = Part::kAll;
  std::vector<int> order = {};  // a permutation of the ranks; empty: 0, 1, ...
  std::vector<int> switch_of = {};
  double nap_s = 20e-6;             // between polls; 0: spin
  double relative_interval = 0.03;  // half width of the median's interval that is enough
  int repetitions_max = 100;
  std::uint64_t seed = 1;  // of the order of sizes
  bool include_environment = false;
  bool include_hosts = false;
  std::string machine = {};                            // for people
  std::map<std::string, std::string> provenance = {};  // besides what the program finds out
};

// The series on `ranks` ranks, without points: members and sizes (as points without times).
// `pairs` cross from one switch to the others, or from one half of the ranks to the second.
std::vector<Series> series_to_measure(const MeasureOptions& options);

// The request (calibrate/bench/request.hpp) for them. InputError naming --ranks, --budget,
// --max-bytes or --patterns when there is nothing to measure.
std::string default_request(const MeasureOptions& options);

struct MeasureOutcome {
  Measurement measurement;  // of what was measured, also after a failure; without series: nothing
  std::string failure;      // why it is not whole, empty if it is; also in the notes
};

// Runs the request under `command` (a launcher with its arguments and the MPI program): first the
// ping-pongs of all pairs, then the rest with small groups made of hosts that are alike.
MeasureOutcome measure(const std::vector<std::string>& command, const MeasureOptions& options,
                       const std::function<void(const std::string&)>& on_progress);

}  // namespace forescale
