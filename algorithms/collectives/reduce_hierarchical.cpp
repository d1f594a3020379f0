// Hierarchical reduce: any number of levels of chains, binomial and flat trees, such as
// "chain:8,chain:8,binomial"; without the option levels, "chain:K,binomial" with the chain size K.
// Lowest level first. T = sum of the levels' times (levels.hpp says why it is exact).
#include "algorithms/pieces/levels.hpp"

namespace forescale {
namespace {

OpStream plan_reduce_hierarchical(CollectiveCall call, int rank) {
  return hierarchical_reduce(levels_of_call(call), call, rank);
}

std::optional<double> reduce_hierarchical_s(const CollectiveCall& call, const StepCost& cost) {
  return hierarchical_reduce_s(levels_of_call(call), call, cost);
}

const bool kReduceHierarchicalRegistered =
    register_collective({.op = CollectiveOp::kReduce,
                         .algorithm = "hierarchical",
                         .summary = "levels of chains and trees among leaders",
                         .source = "S-Caffe (PPoPP 2017) section 5, figure 7",
                         .options = {kChunkBytes, kChainSize, kLevels},
                         .plan = plan_reduce_hierarchical,
                         .closed_form = reduce_hierarchical_s});

}  // namespace
}  // namespace forescale
