// The vector of a call in blocks and in chunks, and reasons to refuse a call that several
// collectives share.
#pragma once

#include <bit>
#include <string>

#include "algorithms/collective.hpp"
#include "algorithms/common_options.hpp"
#include "algorithms/pieces/plan_pieces.hpp"

namespace forescale {

// One block a rank, that of rank r being block r.
inline Blocks blocks_of_call(const CollectiveCall& call) {
  return Blocks({.offset = 0, .bytes = call.bytes}, call.rank_count, call.element_bytes);
}

// Chunks of the option chunk_bytes.
inline Chunks chunks_of_call(const CollectiveCall& call) {
  return Chunks({.offset = 0, .bytes = call.bytes}, call.options.number(kChunkBytes),
                call.element_bytes);
}

inline int chain_size(const CollectiveCall& call) {
  return static_cast<int>(call.options.number(kChainSize));
}

inline std::string refuse_unless_power_of_two(const CollectiveCall& call) {
  if (std::has_single_bit(static_cast<unsigned>(call.rank_count))) return "";
  return "needs a power of two of ranks";
}

}  // namespace forescale
