// Patterns in which all members send or receive at once: the steps of collectives.
#include "calibrate/bench/patterns/pattern.hpp"

namespace forescale {
namespace {

double elapsed_s(const PatternCall& call) { return clock_s() - call.start_s; }

// Steps in a row without a barrier: each rank goes on when its own two messages are through.
double sendrecv_steps(const PatternCall& call, int to, int from) {
  for (int step = 0; step < call.in_a_row; ++step) {
    std::vector<MPI_Request> requests = {start_receive(call, from, 0, call.bytes),
                                         start_send(call, to, call.bytes)};
    wait_all(requests, *call.patience);
  }
  return elapsed_s(call) / call.in_a_row;
}

int left_of(const PatternCall& call) { return (call.index + call.count - 1) % call.count; }

double shift(const PatternCall& call) {
  return sendrecv_steps(call, (call.index + 1) % call.count, left_of(call));
}

double exchange(const PatternCall& call) {
  return sendrecv_steps(call, call.index ^ 1, call.index ^ 1);
}

double fan_in(const PatternCall& call) {
  if (call.index != 0) {
    send(call, 0, call.bytes);
    return 0;
  }
  std::vector<MPI_Request> requests;
  for (int from = 1; from < call.count; ++from)
    requests.push_back(start_receive(call, from, from - 1, call.bytes));
  wait_all(requests, *call.patience);
  return elapsed_s(call);
}

double fan_out(const PatternCall& call) {
  if (call.index != 0) {
    receive(call, 0, call.bytes);
    return elapsed_s(call);
  }
  std::vector<MPI_Request> requests;
  for (int to = 1; to < call.count; ++to) requests.push_back(start_send(call, to, call.bytes));
  wait_all(requests, *call.patience);
  return 0;
}

const bool kPatternAllRanksRegistered = [] {
  const auto one_block = [](int, int) { return 1; };
  Registry<PatternCode>::add({.name = "shift",
                              .in_a_row_small = 16,
                              .in_a_row_large = 8,
                              .blocks = one_block,
                              .sender = [](const PatternCall& call, int) { return left_of(call); },
                              .run = shift});
  Registry<PatternCode>::add({.name = "exchange",
                              .in_a_row_small = 16,
                              .in_a_row_large = 8,
                              .blocks = one_block,
                              .sender = [](const PatternCall& call, int) { return call.index ^ 1; },
                              .run = exchange});
  Registry<PatternCode>::add(
      {.name = "fan-in",
       .blocks = [](int count, int index) { return index == 0 ? count - 1 : 0; },
       .sender = [](const PatternCall&, int block) { return block + 1; },
       .run = fan_in});
  return Registry<PatternCode>::add({.name = "fan-out",
                                     .blocks = [](int, int index) { return index == 0 ? 0 : 1; },
                                     .sender = [](const PatternCall&, int) { return 0; },
                                     .run = fan_out});
}();

}  // namespace
}  // namespace forescale
