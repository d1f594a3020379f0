// Counts the messages that the MPI library sends on behalf of this rank, also inside collectives,
// by the rank that they go to.
//
// Open MPI tells its component pml/monitoring of every message; MPICH over UCX hands each one to
// libucp. This program has the function that either of them calls (message_counter.cpp), found
// before the library's own by the dynamic linker. Nothing is counted where neither is called: Open
// MPI without `--mca pml_monitoring_enable 1`, MPICH over another transport or through memory that
// ranks share.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace forescale {

struct SentMessages {
  std::vector<std::int64_t> messages;  // by rank in MPI_COMM_WORLD
  std::vector<std::int64_t> bytes;
};

class MessageCounter {
 public:
  // Collective on MPI_COMM_WORLD: sends an empty message to every rank, to learn where they go.
  MessageCounter();
  // Whether those messages were seen.
  bool is_working() const { return is_working_; }
  // What the messages were counted by: "pml/monitoring", "libucp".
  static std::string method();

  static void reset();
  static SentMessages since_reset();

 private:
  bool is_working_ = false;
};

}  // namespace forescale
