// CC-k reduce: chains of k ranks, then one chain of their leaders; levels one after the other.
// T = C(k) + C(ceil(P/k))
// C(m) = (n+m-2)(x + r): a chain of m ranks, n chunks; overlapped (m-1)(x + r) + (n-1) max(x, r).
#include "algorithms/pieces/levels.hpp"

namespace forescale {
namespace {

std::vector<Level> cc_levels(const CollectiveCall& call) {
  return {{.kind = TreeKind::kChain, .member_count = chain_size(call)},
          {.kind = TreeKind::kChain, .member_count = 0}};
}

OpStream plan_reduce_cc(CollectiveCall call, int rank) {
  return hierarchical_reduce(cc_levels(call), call, rank);
}

std::optional<double> reduce_cc_s(const CollectiveCall& call, const StepCost& cost) {
  return hierarchical_reduce_s(cc_levels(call), call, cost);
}

const bool kReduceCcRegistered =
    register_collective({.op = CollectiveOp::kReduce,
                         .algorithm = "cc",
                         .summary = "chains of k ranks, then one chain of their leaders",
                         .source = "S-Caffe (PPoPP 2017) section 5, figure 7",
                         .options = {kChunkBytes, kChainSize},
                         .plan = plan_reduce_cc,
                         .closed_form = reduce_cc_s});

}  // namespace
}  // namespace forescale
