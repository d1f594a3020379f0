// What a Chakra execution trace holds of one rank: a graph of nodes, and what it leaves out.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "algorithms/collective.hpp"

namespace forescale {

struct ChakraNode {
  enum class Kind : std::uint8_t {
    kNothing,
    kHostWork,
    kKernel,
    kCopy,  // between GPU and host: loads from and stores to remote memory
    kSend,
    kReceive,
    kCollective
  };
  std::uint64_t id = 0;
  std::uint64_t start_us = 0;  // 0 in most traces
  double duration_s = 0;
  std::int64_t bytes = 0;  // as the trace says it
  std::uint64_t tag = 0;
  std::int32_t place = -1;  // CPU thread or GPU stream, dense; -1: not in the trace
  std::int32_t label = 0;   // index
  std::int32_t group = 0;   // of a collective: index in ChakraRank::groups
  std::int32_t peer = 0;
  Kind kind = Kind::kNothing;
  CollectiveOp op = CollectiveOp::kAllReduce;
  bool on_host = false;
  bool to_host = false;
};

// What is not in the trace, or not used: for the notes.
struct ChakraGaps {
  std::uint64_t without_time = 0;    // tasks
  std::uint64_t without_device = 0;  // tasks, taken to be of the GPU
  std::uint64_t host_calls = 0;      // CPU side of communication, kept as host work
  std::uint64_t left_out = 0;        // communication on the GPU without operation, size or peer
  double left_out_s = 0;
  std::uint64_t partial_dimensions = 0;  // collectives
  std::uint64_t without_root = 0;        // collectives that have one
  std::uint64_t barriers = 0;
  std::uint64_t copies = 0;
  std::uint64_t other_nodes = 0;  // storage, batches, checkpoints
  std::uint64_t callers = 0;      // control dependencies of PyTorch
};

struct ChakraRank {
  std::string file;
  std::deque<std::string> labels;
  std::vector<ChakraNode> nodes;  // in the order of the file
  // Node i waits for the nodes of these ids, [needs_begin[i], needs_begin[i + 1]).
  std::vector<std::uint64_t> needs;
  std::vector<std::uint64_t> needs_begin{0};
  std::vector<std::string> groups{""};  // process groups by name; the first: of all ranks
  std::map<std::string, std::vector<int>> members;  // of groups that the trace defines
  int world_size = 0;                               // 0: not in the trace
  ChakraGaps gaps;
};

}  // namespace forescale
