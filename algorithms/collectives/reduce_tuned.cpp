// S-Caffe's tuned hierarchical reduce, HR (Tuned), by the rules of its section 5: above 8 MB a
// chunked chain beats the binomial tree; 8 ranks are the ideal length of a chain; chains of chains
// scale to 64 ranks; beyond, a binomial tree of the chains' leaders.
// The paper decided by measurements on its own cluster and prints no table: "8M" is taken as 8 MiB,
// up to it a binomial tree. The number of chunks stays the caller's.
#include "algorithms/pieces/levels.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kBinomialUpToBytes = 8 << 20;
constexpr int kTunedChainSize = 8;
constexpr int kChainOfChainsUpTo = kTunedChainSize * kTunedChainSize;

std::vector<Level> tuned_levels(const CollectiveCall& call) {
  if (call.bytes <= kBinomialUpToBytes) return {{.kind = TreeKind::kBinomial, .member_count = 0}};
  const Level chain = {.kind = TreeKind::kChain, .member_count = kTunedChainSize};
  if (call.rank_count <= kTunedChainSize) return {{.kind = TreeKind::kChain, .member_count = 0}};
  if (call.rank_count <= kChainOfChainsUpTo)
    return {chain, {.kind = TreeKind::kChain, .member_count = 0}};
  return {chain, {.kind = TreeKind::kBinomial, .member_count = 0}};
}

OpStream plan_reduce_tuned(CollectiveCall call, int rank) {
  return hierarchical_reduce(tuned_levels(call), call, rank);
}

std::optional<double> reduce_tuned_s(const CollectiveCall& call, const StepCost& cost) {
  return hierarchical_reduce_s(tuned_levels(call), call, cost);
}

const bool kReduceTunedRegistered =
    register_collective({.op = CollectiveOp::kReduce,
                         .algorithm = "tuned",
                         .summary = "binomial, chain, CC-8 or CB-8 by bytes and ranks",
                         .source = "S-Caffe (PPoPP 2017) section 5, HR (Tuned)",
                         .options = {kChunkBytes},
                         .plan = plan_reduce_tuned,
                         .closed_form = reduce_tuned_s});

}  // namespace
}  // namespace forescale
