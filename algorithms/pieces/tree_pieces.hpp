// Reduce and broadcast inside one group of ranks: flat, binomial tree, chunked chain; what they do
// and what they take. Member 0 of the group is the root.
//
// Times hold for one send and one receive at a time per rank, all members starting together; x is
// the transfer of a message, r its reduction, P the number of members.
#pragma once

#include "algorithms/collective.hpp"
#include "algorithms/pieces/plan_pieces.hpp"

namespace forescale {

enum class TreeKind { kFlat, kBinomial, kChain };

// Operations of `member`. Flat and binomial move the vector as one message; only a chain cuts it.
OpStream tree_reduce(TreeKind kind, Group group, int member, Chunks chunks);
OpStream tree_broadcast(TreeKind kind, Group group, int member, Chunks chunks);

// Seconds, exact.
//   flat reduce       (P-1)(x+r); overlapped (x+r) + (P-2) max(x, r)
//   binomial reduce   ceil(log2 P)(x+r); overlapped less unless P is a power of two
//   chain reduce      S-Caffe equation 2, (n+P-2)(x+r); overlapped (P-1)(x+r) + (n-1) max(x, r);
//                     both with the true size of the last chunk
//   flat broadcast    (P-1) x;  binomial  ceil(log2 P) x;  chain  (n+P-2) x
double tree_reduce_s(TreeKind kind, int member_count, Chunks chunks, const StepCost& cost);
double tree_broadcast_s(TreeKind kind, int member_count, Chunks chunks, const StepCost& cost);

}  // namespace forescale
