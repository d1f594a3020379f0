// What the ranks of a pattern do in one repetition. A group of patterns is one file pattern_*.cpp
// that registers them by name (calibrate/measure/measurement.hpp says what each one is).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/registry.hpp"
#include "calibrate/bench/patience.hpp"

namespace forescale {

// One rank's part.
struct PatternCall {
  MPI_Comm members = MPI_COMM_NULL;  // those that take part, in the order of the series
  int index = 0;                     // this rank's place among them
  int count = 1;
  std::int64_t bytes = 0;
  int in_a_row = 1;               // messages, steps or rounds
  std::byte* sent = nullptr;      // one block of `bytes`
  std::byte* received = nullptr;  // `blocks` blocks of `bytes`
  const Patience* patience = nullptr;
  std::string op = {};  // kCollective only
  double start_s = 0;   // of this rank's clock_s(): when the repetition began
};

struct PatternCode {
  std::string name;
  bool starts_together = true;  // at a moment agreed upon; else each when it gets there
  int in_a_row_small = 1;       // up to kLargeBytes
  int in_a_row_large = 1;
  // Blocks of `bytes` that a rank receives into; the sender (an index) of what is in one of them at
  // the end. Null: nothing is received, nothing is checked.
  int (*blocks)(int count, int index) = nullptr;
  int (*sender)(const PatternCall& call, int block) = nullptr;
  // Does it; seconds as measurement.hpp defines them, 0 where this rank's time does not count.
  double (*run)(const PatternCall& call) = nullptr;
};

constexpr std::int64_t kLargeBytes = 64 << 10;

// Sending and receiving as all patterns do: posted at once, waited for patiently.
void wait_all(std::vector<MPI_Request>& requests, const Patience& patience);
MPI_Request start_send(const PatternCall& call, int to, std::int64_t bytes);
MPI_Request start_receive(const PatternCall& call, int from, int block, std::int64_t bytes);
void send(const PatternCall& call, int to, std::int64_t bytes);
void receive(const PatternCall& call, int from, std::int64_t bytes);

// Bytes that only `sender` sends in messages of this size, and whether they have arrived.
void fill_block(std::byte* block, std::int64_t bytes, int sender);
bool is_block_of(const std::byte* block, std::int64_t bytes, int sender);

}  // namespace forescale
