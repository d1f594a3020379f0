// CCB-k reduce: chains of k ranks, chains of k leaders, a binomial tree; levels in sequence.
// T = C(k) + C(min(k, ceil(P/k))) + B(ceil(P/k^2))
// C(m) = (n+m-2)(x + r): a chain of m ranks, n chunks; overlapped (m-1)(x + r) + (n-1) max(x, r).
// B(m) = ceil(log2 m)(x + r): a binomial tree of m ranks, the whole vector in one message.
#include "algorithms/pieces/levels.hpp"

namespace forescale {
namespace {

std::vector<Level> ccb_levels(const CollectiveCall& call) {
  return {{.kind = TreeKind::kChain, .member_count = chain_size(call)},
          {.kind = TreeKind::kChain, .member_count = chain_size(call)},
          {.kind = TreeKind::kBinomial, .member_count = 0}};
}

OpStream plan_reduce_ccb(CollectiveCall call, int rank) {
  return hierarchical_reduce(ccb_levels(call), call, rank);
}

std::optional<double> reduce_ccb_s(const CollectiveCall& call, const StepCost& cost) {
  return hierarchical_reduce_s(ccb_levels(call), call, cost);
}

const bool kReduceCcbRegistered =
    register_collective({.op = CollectiveOp::kReduce,
                         .algorithm = "ccb",
                         .summary = "chains of k ranks, chains of k leaders, then a binomial tree",
                         .source = "S-Caffe (PPoPP 2017) section 5, figure 7",
                         .options = {kChunkBytes, kChainSize},
                         .plan = plan_reduce_ccb,
                         .closed_form = reduce_ccb_s});

}  // namespace
}  // namespace forescale
