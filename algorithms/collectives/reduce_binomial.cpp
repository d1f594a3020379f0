// Binomial tree reduce: in round k, ranks (counted from the root) with bit k set send to the rank
// 2^k below and are done. T = ceil(log2 P)(x + r): S-Caffe equation 1 with t(b) = x + r. Overlapped
// it takes as long, less where P is no power of two (see tree_pieces.cpp). One message, no chunks.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/tree_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_reduce_binomial(CollectiveCall call, int rank) {
  return tree_reduce(TreeKind::kBinomial, whole_group(call.rank_count, call.root),
                     member_of(rank, call.root, call.rank_count), chunks_of_call(call));
}

std::optional<double> reduce_binomial_s(const CollectiveCall& call, const StepCost& cost) {
  return tree_reduce_s(TreeKind::kBinomial, call.rank_count, chunks_of_call(call), cost);
}

const bool kReduceBinomialRegistered =
    register_collective({.op = CollectiveOp::kReduce,
                         .algorithm = "binomial",
                         .summary = "binomial tree, whole vectors",
                         .source = "S-Caffe (PPoPP 2017) section 5, equation 1",
                         .plan = plan_reduce_binomial,
                         .closed_form = reduce_binomial_s});

}  // namespace
}  // namespace forescale
