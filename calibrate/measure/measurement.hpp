// Measurements: times by size of one pattern on one machine. What benchmarks write, importers make
// of other tools' logs, and fits take.
//
// File, "forescale-measurement-1" (JSON):
//   {"format", "machine": for people, "library": "Open MPI 4.1.4", "provenance": {"date",
//   "command",
//    "kernel", ...: text, "gpu": {"name", "driver", ...: text or number}}, "notes": [text],
//    "series": [{"pattern", "ranks", "members", "place", "op", "algorithm", "ranks_per_host",
//    "points": [{"bytes", "time_s", "low_s", "high_s", "p10_s", "p90_s", "samples", "flops"}]}],
//    "kernels": [as in measured_kernel.hpp]}
// At least one series or one kernel.
// A time is that of the slowest rank taking part. low_s..high_s is the 95 % interval of the median
// time_s, p10_s..p90_s the spread of single repetitions; a point that was read from a log without
// them has all alike and samples = 1.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "calibrate/measure/measured_kernel.hpp"

namespace forescale {

// What was done with messages of `bytes` bytes, and what its time means.
enum class Pattern {
  kPingPong,     // one way between two ranks: half of a round trip
  kShift,        // every rank sends to the next one of a ring, many steps in a row: one step
  kExchange,     // ranks 2i and 2i+1 send to each other at once, many times in a row: one time
  kFanIn,        // all but the first of `members` send to the first: until it has everything
  kFanOut,       // the first sends to all others: until everybody has his
  kPairs,        // k = ranks/2 one-way messages at once, from the i-th to the (k+i)-th member
  kStream,       // one way, one message after another without an answer: time of each
  kLateReceive,  // a send whose receive is posted late: until the sender may go on
  kBarrier,      // bytes = 0
  kReduction,    // a += b of `bytes` bytes of FP32, on one rank
  kMemoryCopy,   // on one rank
  kGemm,         // C = A B, single precision; bytes = 12 n^2, flops = 2 n^3
  kCollective,   // the library's own; bytes as in algorithms/collective.hpp
  // On one GPU. kReduction and kMemoryCopy are so too where their place is "gpu".
  kHostToDevice,          // from pinned memory
  kDeviceToHost,          // to pinned memory
  kHostToDevicePageable,  // from pageable memory
  kDeviceToHostPageable,
  kCopyBothWays,           // pinned, `bytes` in each direction at once: until both are there
  kPeerCopy,               // between the two GPUs that are `members`
  kFill,                   // a kernel that only writes
  kReductionBesideKernel,  // kReduction while a compute kernel fills the GPU
  kLaunch,                 // bytes = 0: the host's time of one empty launch among many
  kSynchronize             // bytes = 0: from an empty kernel's end until the host knows
};

const char* name_of(Pattern pattern);  // "ping-pong"
// Those of hosts' ranks, which the MPI programs measure, and those of a GPU alone.
const std::vector<Pattern>& rank_patterns();
const std::vector<Pattern>& gpu_patterns();

struct MeasuredPoint {
  std::int64_t bytes = 0;
  double time_s = 0;  // median
  double low_s = 0;
  double high_s = 0;
  double p10_s = 0;
  double p90_s = 0;
  int samples = 1;
  double flops = 0;  // kGemm only
};

struct Series {
  Pattern pattern = Pattern::kPingPong;
  int ranks = 2;                           // that take part
  std::vector<int> members = {};           // which; empty: 0 .. ranks - 1
  std::string place = "host";              // of the buffers: "host" or "gpu" (GPU patterns: "gpu")
  std::string op = {};                     // kCollective: name_of(CollectiveOp)
  std::string algorithm = {};              // kCollective: empty: the library's own choice
  int ranks_per_host = 1;                  // kCollective: neighbours in rank share a host
  std::vector<MeasuredPoint> points = {};  // by growing bytes
};

struct Measurement {
  std::string machine;
  std::string library;
  std::map<std::string, std::string> provenance = {};
  std::vector<std::string> notes = {};  // what was cut short, and why
  std::vector<Series> series = {};
  std::map<std::string, std::string> gpu = {};  // in the file: within "provenance"
  std::vector<MeasuredKernel> kernels = {};
};

// InputError with file, JSON pointer, value and constraint: unknown keys, negative or zero times,
// sizes that do not grow, neither a series nor a kernel.
Measurement read_measurement(const std::string& file);
Measurement read_measurement_text(const std::string& text, const std::string& file);
// Keys that hold nothing are left out, and so are intervals of points that have none.
nlohmann::json to_json(const Measurement& measurement);
// Written beside `file` and renamed, so that a reader finds the old or the whole new one.
// InputError naming the file and the reason when it cannot be written.
void write_measurement(const Measurement& measurement, const std::string& file);

}  // namespace forescale
