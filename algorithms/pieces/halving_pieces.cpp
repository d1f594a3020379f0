#include "algorithms/pieces/halving_pieces.hpp"

#include <utility>

namespace forescale {
namespace {

OpStream send_once(int peer, ByteRange range) { co_yield send(peer, range); }
OpStream recv_once(int peer, ByteRange range) { co_yield recv(peer, range); }
OpStream recv_reduce_once(int peer, ByteRange range) { co_yield recv_reduce(peer, range); }

}  // namespace

FoldedGroup folded(Group all) {
  const int core_count = static_cast<int>(std::bit_floor(static_cast<unsigned>(all.count)));
  return {.all = all, .surplus = all.count - core_count, .core_count = core_count};
}

Blocks core_blocks(const CollectiveCall& call, const FoldedGroup& group) {
  return Blocks({.offset = 0, .bytes = call.bytes}, group.core_count, call.element_bytes);
}

OpStream after_fold_in(FoldedGroup group, int member, ByteRange whole, OpStream core_plan) {
  if (!group.is_folded(member) || whole.bytes == 0) return core_plan;
  if (!group.in_core(member)) return send_once(group.all.rank_of(member - 1), whole);
  return in_sequence(recv_reduce_once(group.all.rank_of(member + 1), whole), std::move(core_plan));
}

OpStream before_fold_out(FoldedGroup group, int member, ByteRange whole, OpStream plan) {
  if (!group.is_folded(member) || whole.bytes == 0) return plan;
  return in_sequence(std::move(plan), group.in_core(member)
                                          ? send_once(group.all.rank_of(member + 1), whole)
                                          : recv_once(group.all.rank_of(member - 1), whole));
}

OpStream halving_reduce_scatter(FoldedGroup group, int core, Blocks blocks) {
  int after = 0;
  for (int half = group.core_count / 2; half > 0; half /= 2) {
    const int partner = core ^ half;
    const ByteRange outgoing = blocks.span(partner & ~(half - 1), half);
    const ByteRange incoming = blocks.span(core & ~(half - 1), half);
    if (outgoing.bytes > 0) co_yield send(group.rank_of(partner), outgoing, after);
    if (incoming.bytes == 0) continue;
    co_yield recv_reduce(group.rank_of(partner), incoming);
    after = 1;
  }
}

OpStream doubling_allgather(FoldedGroup group, int core, Blocks blocks) {
  int after = 0;
  for (int half = 1; half < group.core_count; half *= 2) {
    const int partner = core ^ half;
    const ByteRange outgoing = blocks.span(core & ~(half - 1), half);
    const ByteRange incoming = blocks.span(partner & ~(half - 1), half);
    if (outgoing.bytes > 0) co_yield send(group.rank_of(partner), outgoing, after);
    if (incoming.bytes == 0) continue;
    co_yield recv(group.rank_of(partner), incoming);
    after = 1;
  }
}

OpStream doubling_all_reduce(FoldedGroup group, int core, ByteRange whole) {
  if (whole.bytes == 0) co_return;
  for (int distance = 1; distance < group.core_count; distance *= 2) {
    const int partner = group.rank_of(core ^ distance);
    co_yield send(partner, whole, distance > 1 ? 1 : 0);
    co_yield recv_reduce(partner, whole, 0, 1);
  }
}

double halving_reduce_scatter_s(Blocks blocks, const StepCost& cost) {
  double total_s = 0;
  for (std::int64_t length = blocks.count() / 2; length > 0 && blocks.bytes() > 0; length /= 2)
    total_s += cost.step_s(length * blocks.largest_bytes());
  return total_s;
}

double doubling_allgather_s(Blocks blocks, const StepCost& cost) {
  double total_s = 0;
  for (std::int64_t length = blocks.count() / 2; length > 0 && blocks.bytes() > 0; length /= 2)
    total_s += cost.transfer_s(length * blocks.largest_bytes());
  return total_s;
}

}  // namespace forescale
