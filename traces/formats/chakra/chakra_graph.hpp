// In which order the nodes of a Chakra trace run, and on which threads of their rank.
//
// What a real rank does in order stays in order: nodes of one CPU thread, kernels of one GPU
// stream, collectives of one process group (as NCCL does). Such a lane follows the dependencies,
// and where they leave a choice the times in the trace and the nodes' numbers. A node without such
// a place follows a node that it depends on, so that only dependencies order it; where another
// one does already, it begins a lane of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/formats/chakra/chakra_rank.hpp"

namespace forescale {

struct ChakraGraph {
  std::vector<std::int32_t> order;  // nodes, each behind all that it depends on
  // By node; -1: it does nothing and waits for nothing. A lane runs its nodes one after the other,
  // in `order`.
  std::vector<std::int32_t> lane;
  std::int32_t lane_count = 0;
  // Nodes of other lanes that order[i] has to wait for: [waits_begin[i], waits_begin[i + 1]).
  std::vector<std::int32_t> waits;
  std::vector<std::size_t> waits_begin;
  std::vector<bool> is_awaited;  // by another lane
};

// Of a node, or of a lane.
inline std::size_t as_index(std::int32_t number) { return static_cast<std::size_t>(number); }

// InputError for a number that two nodes have, a dependency on a node that is not there, and a
// cycle. Frees rank.needs.
ChakraGraph graph_of(ChakraRank& rank);

}  // namespace forescale
