// Collectives that move blocks around a ring or along a binomial tree, inside one group of ranks.
//
// Ring: in step s of 2(P-1), member m sends block (m-1-s) mod P to its successor and receives block
// (m-2-s) mod P; in the first P-1 steps it adds (reduce-scatter, block m complete at member m), in
// the others it overwrites (allgather). Patarasuk & Yuan 2009.
// Time: every step costs as much as one of the largest block, uneven blocks or not: a largest block
// travels all the way without a pause, each hop waiting for the one before, and no block is slower.
// An overlapped reduction gains nothing, since the next hop of a block waits for it.
#pragma once

#include "algorithms/collective.hpp"
#include "algorithms/pieces/plan_pieces.hpp"

namespace forescale {

OpStream ring_reduce_scatter(Group group, int member, Blocks blocks);
OpStream ring_allgather(Group group, int member, Blocks blocks);
OpStream ring_all_reduce(Group group, int member, Blocks blocks);

// Seconds. All members start together.
double ring_reduce_scatter_s(Blocks blocks, const StepCost& cost);
double ring_allgather_s(Blocks blocks, const StepCost& cost);

// Binomial tree over blocks: member m owns block (rotation + m) mod P and passes on those of its
// subtree, members [m, m + lowest bit of m), in one message, two where they wrap around the end.
struct RotatedBlocks {
  Blocks blocks;
  int rotation = 0;
  std::array<ByteRange, 2> of_members(int first, int length) const {
    return blocks.cyclic_span(rotation + first, length);
  }
};
// Of the whole vector, one a rank; member 0 is the root.
RotatedBlocks owned_blocks(const CollectiveCall& call);
OpStream binomial_scatter(Group group, int member, RotatedBlocks owned);
OpStream binomial_gather(Group group, int member, RotatedBlocks owned);

// Seconds until the last member is done, exact: the recurrence over the tree.
double binomial_scatter_s(RotatedBlocks owned, const StepCost& cost);
double binomial_gather_s(RotatedBlocks owned, const StepCost& cost);

}  // namespace forescale
