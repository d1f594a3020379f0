// What the MPI library itself offers: a barrier, and its collectives, for comparison only. The
// collectives block, as applications call them; a barrier that spins would take the cores from
// those it waits for, so that one is polled.
#include "calibrate/bench/collectives/library_collective.hpp"
#include "calibrate/bench/patterns/pattern.hpp"

namespace forescale {
namespace {

double barrier(const PatternCall& call) {
  for (int i = 0; i < call.in_a_row; ++i) {
    std::vector<MPI_Request> request(1);
    MPI_Ibarrier(call.members, request.data());
    wait_all(request, *call.patience);
  }
  return (clock_s() - call.start_s) / call.in_a_row;
}

double collective(const PatternCall& call) {
  library_collective(parse_collective_op(call.op, "op"), call.bytes, call.sent, call.received,
                     call.members);
  return clock_s() - call.start_s;
}

const bool kPatternLibraryRegistered = [] {
  const auto one_block = [](int, int) { return 1; };
  Registry<PatternCode>::add(
      {.name = "barrier", .in_a_row_small = 8, .in_a_row_large = 8, .run = barrier});
  return Registry<PatternCode>::add({.name = "collective", .blocks = one_block, .run = collective});
}();

}  // namespace
}  // namespace forescale
