// CC-k reduce: chains of k ranks, then one chain of their leaders; levels one after the other.
// T = C(k) + C(ceil(P/k))
// C(m) = (n+m-2)(x + r): a chain of m ranks, n chunks; overlapped (m-1)(x + r) + (n-1) max(x, r).
#include "algorithms/pieces/levels.hpp"

namespace forescale {
namespace {

std::vector<Level> levels_of(const CollectiveCall& call) {
  return {{.kind = TreeKind::kChain, .member_count = chain_size(call)},
          {.kind = TreeKind::kChain, .member_count = 0}};
}

OpStream plan(CollectiveCall call, int rank) {
  return hierarchical_reduce(levels_of(call), call, rank);
}

std::optional<double> closed_form(const CollectiveCall& call, const StepCost& cost) {
  return hierarchical_reduce_s(levels_of(call), call, cost);
}

const bool kRegistered =
    register_collective({.op = CollectiveOp::kReduce,
                         .algorithm = "cc",
                         .summary = "chains of k ranks, then one chain of their leaders",
                         .source = "S-Caffe (PPoPP 2017) section 5, figure 7",
                         .options = {kChunkBytes, kChainSize},
                         .plan = plan,
                         .closed_form = closed_form});

}  // namespace
}  // namespace forescale
