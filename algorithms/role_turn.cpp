#include "algorithms/role_turn.hpp"

#include <bit>
#include <vector>

namespace forescale {
namespace {

class Reader {
 public:
  Reader(const Collective& collective, const CollectiveCall& call, std::uint64_t operations)
      : collective_(collective), call_(call), left_(operations) {}

  bool is_spent() const { return left_ == 0; }

  // Operations of a role.
  std::uint64_t count_of(int role) { return operations_of(role).size(); }

  // Whether the plan turns so. False, too, when all has been read that may be.
  bool turns(const RoleTurn& turn) {
    for (int role = 0; role < turn.block; ++role) {
      const std::vector<Op> first = operations_of(role);
      for (int by = 1; by < turn.blocks; ++by)
        if (!is_turned(first, turn, role, by)) return false;
    }
    return true;
  }

 private:
  bool next(OpStream& stream) {
    if (left_ == 0) return false;
    --left_;
    return stream.next();
  }

  std::vector<Op> operations_of(int role) {
    std::vector<Op> operations;
    OpStream stream = message_plan(collective_, call_, role);
    while (next(stream)) operations.push_back(stream.op());
    return operations;
  }

  bool is_turned(const std::vector<Op>& first, const RoleTurn& turn, int role, int by) {
    OpStream stream = message_plan(collective_, call_, turn.turned(role, by));
    for (const Op& op : first) {
      if (!next(stream)) return false;
      const Op& other = stream.op();
      if (op.kind != other.kind || op.queue != other.queue || op.awaits != other.awaits ||
          op.bytes != other.bytes || op.after != other.after || op.write_after != other.write_after)
        return false;
      if (op.kind != OpKind::kCopy && turn.turned(op.peer, by) != other.peer) return false;
    }
    return !next(stream) && !is_spent();
  }

  const Collective& collective_;
  const CollectiveCall& call_;
  std::uint64_t left_;
};

}  // namespace

std::optional<RoleTurn> finest_turn(const Collective& collective, const CollectiveCall& call,
                                    int unit, std::uint64_t operations) {
  if (call.rank_count % unit != 0) return std::nullopt;
  const int units = call.rank_count / unit;
  Reader reader(collective, call, operations);
  if (reader.count_of(0) > operations / static_cast<std::uint64_t>(call.rank_count))
    return std::nullopt;
  for (int times = 1; times < units && !reader.is_spent(); ++times) {
    if (units % times != 0) continue;
    for (const bool is_xor : {false, true}) {
      const RoleTurn turn{.block = times * unit, .blocks = units / times, .is_xor = is_xor};
      // Two blocks change places either way.
      if (is_xor && (turn.blocks == 2 || !std::has_single_bit(static_cast<unsigned>(turn.blocks))))
        continue;
      if (reader.turns(turn)) return turn;
    }
  }
  return std::nullopt;
}

}  // namespace forescale
