// Two-dimensional ring all-reduce: ranks form rows of C = chain_size; each row reduce-scatters,
// each column all-reduces the block that its ranks share, each row allgathers. R rows, P = R C. T =
// (C-1)(2x + r)(b/C) + (R-1)(2x + r)(b/P) for equal blocks; no closed form for unequal ones.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/ring_pieces.hpp"

namespace forescale {
namespace {

Blocks row_blocks(const CollectiveCall& call) {
  return Blocks({.offset = 0, .bytes = call.bytes}, chain_size(call), call.element_bytes);
}

std::string why_no_rows(const CollectiveCall& call) {
  if (call.rank_count % chain_size(call) == 0) return "";
  return "needs a number of ranks that --chain-size divides";
}

OpStream plan_all_reduce_2d_ring(CollectiveCall call, int rank) {
  const int columns = chain_size(call);
  const int rows = call.rank_count / columns;
  const int column = rank % columns;
  const Blocks blocks = row_blocks(call);
  const Group row = {.rank_count = call.rank_count,
                     .root = 0,
                     .first = rank - column,
                     .stride = 1,
                     .count = columns};
  const Group down = {
      .rank_count = call.rank_count, .root = 0, .first = column, .stride = columns, .count = rows};
  const Blocks shared(blocks.at(column), rows, call.element_bytes);
  return in_sequence(in_sequence(ring_reduce_scatter(row, column, blocks),
                                 ring_all_reduce(down, rank / columns, shared)),
                     ring_allgather(row, column, blocks));
}

std::optional<double> all_reduce_2d_ring_s(const CollectiveCall& call, const StepCost& cost) {
  const Blocks blocks = row_blocks(call);
  const Blocks shared(blocks.at(0), call.rank_count / chain_size(call), call.element_bytes);
  if (!blocks.even() || !shared.even()) return std::nullopt;
  return ring_reduce_scatter_s(blocks, cost) + ring_reduce_scatter_s(shared, cost) +
         ring_allgather_s(shared, cost) + ring_allgather_s(blocks, cost);
}

const bool kAllReduce2dRingRegistered =
    register_collective({.op = CollectiveOp::kAllReduce,
                         .algorithm = "2d-ring",
                         .summary = "rings along rows, columns and rows again",
                         .source = "Jouppi et al. 2020, Ying et al. 2018 (2D tori)",
                         .options = {kChainSize},
                         .plan = plan_all_reduce_2d_ring,
                         .closed_form = all_reduce_2d_ring_s,
                         .refuse = why_no_rows});

}  // namespace
}  // namespace forescale
