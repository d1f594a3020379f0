// Patterns of one sender and one receiver, and of several such pairs at once.
#include "calibrate/bench/patterns/pattern.hpp"

namespace forescale {
namespace {

constexpr double kLateness_s = 5e-3;

double elapsed_s(const PatternCall& call) { return clock_s() - call.start_s; }

// Half of a round trip, on the first of the two.
double ping_pong(const PatternCall& call) {
  if (call.index == 0) {
    std::vector<MPI_Request> answer = {start_receive(call, 1, 0, call.bytes)};
    send(call, 1, call.bytes);
    wait_all(answer, *call.patience);
    return elapsed_s(call) / 2;
  }
  receive(call, 0, call.bytes);
  send(call, 0, call.bytes);
  return 0;
}

// Receives messages one after another, the next receive always posted, into two blocks in turn.
// Gives the moment when the first was complete.
double receive_in_a_row(const PatternCall& call, int from) {
  double first_s = 0;
  std::vector<MPI_Request> now = {start_receive(call, from, 0, call.bytes)};
  for (int i = 0; i < call.in_a_row; ++i) {
    std::vector<MPI_Request> next;
    if (i + 1 < call.in_a_row) next = {start_receive(call, from, (i + 1) % 2, call.bytes)};
    wait_all(now, *call.patience);
    if (i == 0) first_s = clock_s();
    now = next;
  }
  return first_s;
}

double send_in_a_row(const PatternCall& call, int to) {
  double first_s = 0;
  for (int i = 0; i < call.in_a_row; ++i) {
    send(call, to, call.bytes);
    if (i == 0) first_s = clock_s();
  }
  return first_s;
}

// From the first message to the last: neither the latency nor the answer counts. On both ranks,
// because a receiver that wakes up late finds all messages there at once.
double stream(const PatternCall& call) {
  const bool sends = call.index == 0;
  const double first_s = sends ? send_in_a_row(call, 1) : receive_in_a_row(call, 0);
  const double time_s = (clock_s() - first_s) / (call.in_a_row - 1);
  if (sends)
    receive(call, 1, 0);
  else
    send(call, 0, 0);
  return time_s;
}

// The receiver's time from the common start, for each message.
double pairs(const PatternCall& call) {
  const int half = call.count / 2;
  if (call.index < half)
    send_in_a_row(call, call.index + half);
  else
    receive_in_a_row(call, call.index - half);
  return elapsed_s(call) / call.in_a_row;
}

// The receiver stays away from MPI until it is late.
double late_receive(const PatternCall& call) {
  if (call.index == 0) {
    send(call, 1, call.bytes);
    return elapsed_s(call);
  }
  call.patience->sleep_until(call.start_s + kLateness_s);
  receive(call, 0, call.bytes);
  return 0;
}

const bool kPatternTwoRanksRegistered = [] {
  const auto one_block = [](int, int) { return 1; };
  const auto partner = [](const PatternCall& call, int) { return 1 - call.index; };
  const auto receiver_block = [](int, int index) { return index == 1 ? 1 : 0; };
  Registry<PatternCode>::add({.name = "ping-pong",
                              .starts_together = false,
                              .blocks = one_block,
                              .sender = partner,
                              .run = ping_pong});
  Registry<PatternCode>::add({.name = "stream",
                              .in_a_row_small = 64,
                              .in_a_row_large = 6,
                              .blocks = [](int, int index) { return index == 1 ? 2 : 0; },
                              .sender = partner,
                              .run = stream});
  Registry<PatternCode>::add(
      {.name = "pairs",
       .in_a_row_small = 16,
       .in_a_row_large = 6,
       .blocks = [](int count, int index) { return index >= count / 2 ? 2 : 0; },
       .sender = [](const PatternCall& call, int) { return call.index - call.count / 2; },
       .run = pairs});
  return Registry<PatternCode>::add(
      {.name = "late-receive", .blocks = receiver_block, .sender = partner, .run = late_receive});
}();

}  // namespace
}  // namespace forescale
