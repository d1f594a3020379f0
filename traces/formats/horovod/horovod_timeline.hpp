// What a Horovod timeline says: which tensors were ready when on which rank, and the collectives
// that they became.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/collective.hpp"
#include "traces/measured/measured.hpp"

namespace forescale {

// When a rank was ready with a tensor, as the coordinator heard of it.
struct HorovodTick {
  int rank = 0;
  std::int64_t time_ns = 0;
};

// One operation of one tensor.
struct HorovodCall {
  int tensor = 0;  // index of its name
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::int64_t bytes = -1;              // -1: not in the file
  std::vector<HorovodTick> ticks = {};  // in order of time; empty: the response was cached
  std::int64_t ready_ns = 0;            // of the ranks without a tick
  ClockSpan span = {};                  // of the operation
  int collective = -1;                  // index; -1: was not carried out to its end
  int iteration = 0;
};

// Calls that were carried out as one: fused.
struct HorovodCollective {
  std::vector<int> calls;  // indices
  ClockSpan span;
  int iteration = 0;  // the rank waits for it at the end of that one
};

struct HorovodTimeline {
  std::vector<std::string> tensors;
  std::vector<HorovodCall> calls;              // in order of their negotiations
  std::vector<HorovodCollective> collectives;  // in order of their begins
  int ranks = 0;
  int iterations = 0;
  int adasums = 0;
  int without_root_size = 0;  // broadcasts whose size the file lacks; not among the collectives
  int failed = 0;             // operations that Horovod answered with an error
  int unfinished = 0;         // negotiations and operations that the file does not see to their end
};

// InputError for what is no such timeline, with the position; for ranks that are missing, and for
// sizes that are.
HorovodTimeline read_horovod(const std::string& file);

}  // namespace forescale
