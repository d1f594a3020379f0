#include "algorithms/pieces/tree_pieces.hpp"

#include "base/error.hpp"

namespace forescale {
namespace {

OpStream flat_reduce(Group group, int member, ByteRange whole) {
  if (member != 0) co_yield send(group.rank_of(0), whole);
  for (int from = 1; member == 0 && from < group.count; ++from)
    co_yield recv_reduce(group.rank_of(from), whole);
}

OpStream flat_broadcast(Group group, int member, ByteRange whole) {
  if (member != 0) co_yield recv(group.rank_of(0), whole);
  for (int to = 1; member == 0 && to < group.count; ++to) co_yield send(group.rank_of(to), whole);
}

// Member m adds what m+1, m+2, m+4, ... collected, up to its lowest set bit, then sends to
// m - lowest bit.
OpStream binomial_reduce(Group group, int member, ByteRange whole) {
  int after = 0;
  for (int bit = 1; bit < group.count; bit <<= 1) {
    if (member & bit) {
      co_yield send(group.rank_of(member - bit), whole, after);
      co_return;
    }
    if (member + bit >= group.count) continue;
    co_yield recv_reduce(group.rank_of(member + bit), whole);
    after = 1;
  }
}

// The same tree, largest subtree first.
OpStream binomial_broadcast(Group group, int member, ByteRange whole) {
  int bit = highest_child(group.count);
  int after = 0;
  if (member != 0) {
    const int parent_bit = lowest_bit(member);
    co_yield recv(group.rank_of(member - parent_bit), whole);
    bit = parent_bit >> 1;
    after = 1;
  }
  for (; bit > 0; bit >>= 1)
    if (member + bit < group.count) co_yield send(group.rank_of(member + bit), whole, after);
}

// The last member starts; each adds a chunk and passes it on while it receives the next one.
OpStream chain_reduce(Group group, int member, Chunks chunks) {
  const bool starts = member == group.count - 1;
  const int from = starts ? -1 : group.rank_of(member + 1);
  const int to = member == 0 ? -1 : group.rank_of(member - 1);
  for (std::int64_t chunk = 0; chunk < chunks.count(); ++chunk) {
    const ByteRange range = chunks.at(chunk);
    if (!starts) co_yield recv_reduce(from, range);
    if (to >= 0) co_yield send(to, range, starts ? 0 : 1);
  }
}

OpStream chain_broadcast(Group group, int member, Chunks chunks) {
  const int from = member == 0 ? -1 : group.rank_of(member - 1);
  const int to = member == group.count - 1 ? -1 : group.rank_of(member + 1);
  for (std::int64_t chunk = 0; chunk < chunks.count(); ++chunk) {
    const ByteRange range = chunks.at(chunk);
    if (from >= 0) co_yield recv(from, range);
    if (to >= 0) co_yield send(to, range, from >= 0 ? 1 : 0);
  }
}

// When the root of a binomial tree of `count` members has added everything, reductions overlapping.
// Of its K = ceil(log2 count) children all but the last root full subtrees of 2^k members, ready at
// k (x+r); the last one is a tree of what remains, often ready before, so that its transfer starts
// as soon as the port is free, at (K-2)(x+r) + x, while the reduction before is still running.
double binomial_overlapped_s(int count, double x_s, double r_s) {
  if (count == 1) return 0;
  const int children = ceil_log2(count);
  const double step_s = x_s + r_s;
  const int rest = count - highest_child(count);
  if (rest == highest_child(count)) return children * step_s;
  const double port_free_s = (children - 2) * step_s + x_s;
  const double arrived_s = std::max(port_free_s, binomial_overlapped_s(rest, x_s, r_s)) + x_s;
  return std::max(arrived_s, (children - 1) * step_s) + r_s;
}

// A flow shop: chunk k passes member_count - 1 hops. Not overlapped, a hop takes x_k + r_k on its
// receiver, and equal machines give sum_k (x_k + r_k) + (P-2) max_k (x_k + r_k). Overlapped, a hop
// is two machines, x then r; the longest path stays n-2 times on the slower one among the chunks of
// full size and crosses to the last, smaller chunk (x', r') on the last hop, before or after x.
double chain_reduce_s(int member_count, Chunks chunks, const StepCost& cost) {
  const std::int64_t full_bytes = chunks.at(0).bytes;
  const std::int64_t last_bytes = chunks.at(chunks.count() - 1).bytes;
  const double n = static_cast<double>(chunks.count());
  const int hops = member_count - 1;
  const double fill_s = hops * cost.step_s(full_bytes);
  if (chunks.count() == 1) return fill_s;
  if (!cost.reduction_overlaps)
    return fill_s + (n - 2) * cost.step_s(full_bytes) + cost.step_s(last_bytes);
  const double x_s = cost.transfer_s(full_bytes);
  const double r_s = cost.reduce_s(full_bytes);
  return fill_s + (n - 2) * std::max(x_s, r_s) + cost.reduce_s(last_bytes) +
         std::max(0.0, cost.transfer_s(last_bytes) - r_s);
}

double chain_broadcast_s(int member_count, Chunks chunks, const StepCost& cost) {
  const double full_s = cost.transfer_s(chunks.at(0).bytes);
  const double last_s = cost.transfer_s(chunks.at(chunks.count() - 1).bytes);
  const double n = static_cast<double>(chunks.count());
  return (n - 1) * full_s + last_s + (member_count - 2) * full_s;
}

}  // namespace

OpStream tree_reduce(TreeKind kind, Group group, int member, Chunks chunks) {
  if (group.count == 1 || chunks.count() == 0) return {};
  switch (kind) {
    case TreeKind::kFlat:
      return flat_reduce(group, member, chunks.whole());
    case TreeKind::kBinomial:
      return binomial_reduce(group, member, chunks.whole());
    case TreeKind::kChain:
      return chain_reduce(group, member, chunks);
  }
  FORESCALE_CHECK(false, "unknown tree");
}

OpStream tree_broadcast(TreeKind kind, Group group, int member, Chunks chunks) {
  if (group.count == 1 || chunks.count() == 0) return {};
  switch (kind) {
    case TreeKind::kFlat:
      return flat_broadcast(group, member, chunks.whole());
    case TreeKind::kBinomial:
      return binomial_broadcast(group, member, chunks.whole());
    case TreeKind::kChain:
      return chain_broadcast(group, member, chunks);
  }
  FORESCALE_CHECK(false, "unknown tree");
}

double tree_reduce_s(TreeKind kind, int member_count, Chunks chunks, const StepCost& cost) {
  if (member_count == 1 || chunks.count() == 0) return 0;
  if (kind == TreeKind::kChain) return chain_reduce_s(member_count, chunks, cost);
  const double x_s = cost.transfer_s(chunks.whole().bytes);
  const double r_s = cost.reduce_s(chunks.whole().bytes);
  if (kind == TreeKind::kBinomial)
    return cost.reduction_overlaps ? binomial_overlapped_s(member_count, x_s, r_s)
                                   : ceil_log2(member_count) * (x_s + r_s);
  return x_s + r_s +
         (member_count - 2) * (cost.reduction_overlaps ? std::max(x_s, r_s) : x_s + r_s);
}

double tree_broadcast_s(TreeKind kind, int member_count, Chunks chunks, const StepCost& cost) {
  if (member_count == 1 || chunks.count() == 0) return 0;
  if (kind == TreeKind::kChain) return chain_broadcast_s(member_count, chunks, cost);
  const int rounds = kind == TreeKind::kBinomial ? ceil_log2(member_count) : member_count - 1;
  return rounds * cost.transfer_s(chunks.whole().bytes);
}

}  // namespace forescale
