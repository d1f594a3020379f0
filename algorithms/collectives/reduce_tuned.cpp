// S-Caffe's tuned hierarchical reduce, HR (Tuned), by the rules of its section 5: above 8 MB a
// chunked chain beats the binomial tree; 8 ranks are the ideal length of a chain; chains of chains
// scale to 64 ranks; beyond, a binomial tree of the chains' leaders.
// The paper decided by measurements on its own cluster and prints no table: "8M" is taken as 8 MiB,
// up to it a binomial tree. The number of chunks stays the caller's.
#include "algorithms/pieces/levels.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kBinomialUpToBytes = 8 << 20;
constexpr int kChainSize = 8;
constexpr int kChainOfChainsUpTo = kChainSize * kChainSize;

std::vector<Level> levels_of(const CollectiveCall& call) {
  if (call.bytes <= kBinomialUpToBytes) return {{.kind = TreeKind::kBinomial, .member_count = 0}};
  const Level chain = {.kind = TreeKind::kChain, .member_count = kChainSize};
  if (call.rank_count <= kChainSize) return {{.kind = TreeKind::kChain, .member_count = 0}};
  if (call.rank_count <= kChainOfChainsUpTo)
    return {chain, {.kind = TreeKind::kChain, .member_count = 0}};
  return {chain, {.kind = TreeKind::kBinomial, .member_count = 0}};
}

OpStream plan(CollectiveCall call, int rank) {
  return hierarchical_reduce(levels_of(call), call, rank);
}

std::optional<double> closed_form(const CollectiveCall& call, const StepCost& cost) {
  return hierarchical_reduce_s(levels_of(call), call, cost);
}

const bool kRegistered =
    register_collective({.op = CollectiveOp::kReduce,
                         .algorithm = "tuned",
                         .summary = "binomial, chain, CC-8 or CB-8 by bytes and ranks",
                         .source = "S-Caffe (PPoPP 2017) section 5, HR (Tuned)",
                         .options = {kChunkBytes},
                         .plan = plan,
                         .closed_form = closed_form});

}  // namespace
}  // namespace forescale
