#include "algorithms/pieces/ring_pieces.hpp"

namespace forescale {
namespace {

struct Steps {
  int first = 0;
  int end = 0;
};

// The inner loop of the largest simulations: additions only.
// A block that comes back in the second half was sent 2 * (non-empty blocks) - 1 operations ago,
// steps of empty blocks being left out. By then that send has long gone around the ring; the
// distance says so to executors that look at one rank only.
OpStream ring(Group group, int member, Blocks blocks, Steps steps) {
  const int count = group.count;
  const int to = group.rank_of(member + 1 == count ? 0 : member + 1);
  const int from = group.rank_of(member == 0 ? count - 1 : member - 1);
  constexpr std::int64_t kFarthestRecv = kLookback - 1;
  const bool sent_before = steps.first < count - 1;
  const auto returned = static_cast<int>(std::min(2 * blocks.nonempty() - 1, kFarthestRecv));
  const int write_after = sent_before ? returned : 0;

  int block = (member - 1 - steps.first + 2 * count) % count;
  // Two operations changed in place: a temporary would be copied into the frame before each yield.
  Op outgoing = send(to, blocks.at(block), 0);
  Op incoming = recv_reduce(from, {});
  for (int step = steps.first; step < steps.end; ++step) {
    const ByteRange sent{outgoing.offset, outgoing.bytes};
    const ByteRange next = block == 0 ? blocks.at(count - 1) : blocks.before(sent, block);
    block = block == 0 ? count - 1 : block - 1;
    if (step >= count - 1) {
      incoming.kind = OpKind::kRecv;
      incoming.write_after = write_after;
    }
    incoming.offset = next.offset;
    incoming.bytes = next.bytes;
    if (outgoing.bytes > 0) co_yield outgoing;
    if (incoming.bytes > 0) co_yield incoming;
    outgoing.offset = next.offset;
    outgoing.bytes = next.bytes;
    outgoing.after = 1;
  }
}

OpStream ring_steps(Group group, int member, Blocks blocks, Steps steps) {
  if (group.count == 1 || blocks.bytes() == 0) return {};
  return ring(group, member, blocks, steps);
}

OpStream scatter_down(Group group, int member, RotatedBlocks owned) {
  int bit = highest_child(group.count);
  int after = 0;
  if (member != 0) {
    bit = lowest_bit(member);
    const int length = std::min(bit, group.count - member);
    for (const ByteRange& part : owned.of_members(member, length)) {
      if (part.bytes == 0) continue;
      co_yield recv(group.rank_of(member - bit), part);
      after = 1;
    }
    bit >>= 1;
  }
  for (; bit > 0; bit >>= 1) {
    const int child = member + bit;
    if (child >= group.count) continue;
    for (const ByteRange& part : owned.of_members(child, std::min(bit, group.count - child)))
      if (part.bytes > 0) co_yield send(group.rank_of(child), part, after);
  }
}

OpStream gather_up(Group group, int member, RotatedBlocks owned) {
  int after = 0;
  for (int bit = 1; bit < group.count; bit <<= 1) {
    const bool sends = (member & bit) != 0;
    const int subtree = sends ? member : member + bit;
    if (subtree >= group.count) continue;
    const int peer = group.rank_of(sends ? member - bit : subtree);
    for (const ByteRange& part : owned.of_members(subtree, std::min(bit, group.count - subtree))) {
      if (part.bytes == 0) continue;
      co_yield sends ? send(peer, part, after) : recv(peer, part);
      if (!sends) after = 1;
    }
    if (sends) co_return;
  }
}

// Time on the wire of the subtree of `child`, whose parent is `bit` before it.
double subtree_transfer_s(const RotatedBlocks& owned, int child, int bit, const StepCost& cost) {
  const int count = static_cast<int>(owned.blocks.count());
  double total_s = 0;
  for (const ByteRange& part : owned.of_members(child, std::min(bit, count - child)))
    if (part.bytes > 0) total_s += cost.transfer_s(part.bytes);
  return total_s;
}

// When the subtree below `member` is done, `member` having its blocks at `start_s`.
double scattered_s(const RotatedBlocks& owned, int member, double start_s, const StepCost& cost) {
  const int count = static_cast<int>(owned.blocks.count());
  double last_s = start_s;
  for (int bit = member == 0 ? highest_child(count) : lowest_bit(member) >> 1; bit > 0; bit >>= 1) {
    if (member + bit >= count) continue;
    const double transfer_s = subtree_transfer_s(owned, member + bit, bit, cost);
    if (transfer_s == 0) continue;
    start_s += transfer_s;
    last_s = std::max(last_s, scattered_s(owned, member + bit, start_s, cost));
  }
  return last_s;
}

// When `member` holds the blocks of its subtree.
double gathered_s(const RotatedBlocks& owned, int member, const StepCost& cost) {
  const int count = static_cast<int>(owned.blocks.count());
  double ready_s = 0;
  for (int bit = 1; bit < count && !(member & bit); bit <<= 1) {
    if (member + bit >= count) continue;
    const double transfer_s = subtree_transfer_s(owned, member + bit, bit, cost);
    if (transfer_s == 0) continue;
    ready_s = std::max(ready_s, gathered_s(owned, member + bit, cost)) + transfer_s;
  }
  return ready_s;
}

}  // namespace

OpStream ring_reduce_scatter(Group group, int member, Blocks blocks) {
  return ring_steps(group, member, blocks, {.first = 0, .end = group.count - 1});
}

OpStream ring_allgather(Group group, int member, Blocks blocks) {
  return ring_steps(group, member, blocks,
                    {.first = group.count - 1, .end = 2 * (group.count - 1)});
}

OpStream ring_all_reduce(Group group, int member, Blocks blocks) {
  return ring_steps(group, member, blocks, {.first = 0, .end = 2 * (group.count - 1)});
}

double ring_reduce_scatter_s(Blocks blocks, const StepCost& cost) {
  if (blocks.bytes() == 0) return 0;
  return static_cast<double>(blocks.count() - 1) * cost.step_s(blocks.largest_bytes());
}

double ring_allgather_s(Blocks blocks, const StepCost& cost) {
  if (blocks.bytes() == 0) return 0;
  return static_cast<double>(blocks.count() - 1) * cost.transfer_s(blocks.largest_bytes());
}

RotatedBlocks owned_blocks(const CollectiveCall& call) {
  return {.blocks = Blocks({.offset = 0, .bytes = call.bytes}, call.rank_count, call.element_bytes),
          .rotation = call.root};
}

OpStream binomial_scatter(Group group, int member, RotatedBlocks owned) {
  return scatter_down(group, member, owned);
}

OpStream binomial_gather(Group group, int member, RotatedBlocks owned) {
  return gather_up(group, member, owned);
}

double binomial_scatter_s(RotatedBlocks owned, const StepCost& cost) {
  return scattered_s(owned, 0, 0, cost);
}

double binomial_gather_s(RotatedBlocks owned, const StepCost& cost) {
  return gathered_s(owned, 0, cost);
}

}  // namespace forescale
