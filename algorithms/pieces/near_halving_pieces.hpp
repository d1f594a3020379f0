// Recursive halving from near to far: the first exchange, of half the vector, is with the nearest
// rank, the last one with the farthest. With consecutive ranks on a node most of the bytes stay
// inside it. MPICH, src/mpi/coll (reduce-scatter of its long reduce and all-reduce): mask 1 first.
#pragma once

#include "algorithms/pieces/halving_pieces.hpp"

namespace forescale {

// Blocks [first, first + length) that a core member works on: halved at every step.
struct Share {
  int first = 0;
  int length = 0;
  Share half(bool upper) const {
    return {.first = first + (upper ? length / 2 : 0), .length = length / 2};
  }
  ByteRange range(const Blocks& blocks) const { return blocks.span(first, length); }
};

// What core member `core` has summed after all steps.
Share near_share(const FoldedGroup& group, int core);
// Every core member ends with the sum of its near_share().
OpStream near_reduce_scatter(FoldedGroup group, int core, Blocks blocks);

}  // namespace forescale
