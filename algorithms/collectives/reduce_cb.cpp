// CB-k reduce: chains of k ranks, then a binomial tree of their leaders; levels in sequence.
// T = C(k) + B(ceil(P/k))
// C(m) = (n+m-2)(x + r): a chain of m ranks, n chunks; overlapped (m-1)(x + r) + (n-1) max(x, r).
// B(m) = ceil(log2 m)(x + r): a binomial tree of m ranks, the whole vector in one message.
#include "algorithms/pieces/levels.hpp"

namespace forescale {
namespace {

std::vector<Level> cb_levels(const CollectiveCall& call) {
  return {{.kind = TreeKind::kChain, .member_count = chain_size(call)},
          {.kind = TreeKind::kBinomial, .member_count = 0}};
}

OpStream plan_reduce_cb(CollectiveCall call, int rank) {
  return hierarchical_reduce(cb_levels(call), call, rank);
}

std::optional<double> reduce_cb_s(const CollectiveCall& call, const StepCost& cost) {
  return hierarchical_reduce_s(cb_levels(call), call, cost);
}

const bool kReduceCbRegistered =
    register_collective({.op = CollectiveOp::kReduce,
                         .algorithm = "cb",
                         .summary = "chains of k ranks, then a binomial tree of their leaders",
                         .source = "S-Caffe (PPoPP 2017) section 5, figure 7",
                         .options = {kChunkBytes, kChainSize},
                         .plan = plan_reduce_cb,
                         .closed_form = reduce_cb_s});

}  // namespace
}  // namespace forescale
