// What each rank has before a collective and must have after it, as symbols: whose contributions,
// to which element, a cell is the sum of. The contract of collective.hpp, executable.
#pragma once

#include <fmt/format.h>

#include <bitset>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/check/plan_check.hpp"

namespace forescale {

struct SymbolicValue {
  std::bitset<kCheckedRanksMax> ranks;
  std::int64_t element = -1;  // -1: nothing that anyone put there

  bool operator==(const SymbolicValue&) const = default;
};
using SymbolicValues = std::vector<SymbolicValue>;

inline std::string to_text(const SymbolicValue& value) {
  if (value.element < 0) return "nothing";
  std::vector<int> ranks;
  for (int rank = 0; rank < kCheckedRanksMax; ++rank)
    if (value.ranks[static_cast<std::size_t>(rank)]) ranks.push_back(rank);
  return fmt::format("element {} of ranks {{{}}}", value.element, fmt::join(ranks, ", "));
}

inline SymbolicValue of_rank(int rank, std::int64_t element) {
  SymbolicValue value;
  value.ranks.set(static_cast<std::size_t>(rank));
  value.element = element;
  return value;
}

// What the contract in collective.hpp says of each cell, before and after. Cells, not bytes.
class CollectiveContract {
 public:
  explicit CollectiveContract(const PlanCase& plan) : plan_(plan) {
    for (int rank = 0; rank < plan.call.rank_count; ++rank)
      all_.set(static_cast<std::size_t>(rank));
  }

  std::int64_t cells(int rank) const {
    return buffer_bytes(plan_.op, plan_.call, rank) / plan_.cell_bytes;
  }

  SymbolicValue before(int rank, std::int64_t cell) const {
    switch (plan_.op) {
      case CollectiveOp::kBroadcast:
      case CollectiveOp::kScatter:
        return rank == plan_.call.root ? of_rank(rank, cell) : SymbolicValue{};
      case CollectiveOp::kAllGather:
      case CollectiveOp::kGather:
        return in_block(rank, cell) ? of_rank(rank, cell) : SymbolicValue{};
      default:
        return cell < plan_.call.bytes / plan_.cell_bytes ? of_rank(rank, cell) : SymbolicValue{};
    }
  }

  // Nothing where the contract leaves it open.
  std::optional<SymbolicValue> after(int rank, std::int64_t cell) const {
    const bool is_root = rank == plan_.call.root;
    const SymbolicValue sum = {.ranks = all_, .element = cell};
    switch (plan_.op) {
      case CollectiveOp::kReduce:
        return is_root ? std::optional(sum) : std::nullopt;
      case CollectiveOp::kBroadcast:
        return of_rank(plan_.call.root, cell);
      case CollectiveOp::kAllReduce:
        return sum;
      case CollectiveOp::kReduceScatter:
        return in_block(rank, cell) ? std::optional(sum) : std::nullopt;
      case CollectiveOp::kAllGather:
        return of_rank(owner(cell), cell);
      case CollectiveOp::kGather:
        return is_root ? std::optional(of_rank(owner(cell), cell)) : std::nullopt;
      case CollectiveOp::kScatter:
        return in_block(rank, cell) ? std::optional(of_rank(plan_.call.root, cell)) : std::nullopt;
      case CollectiveOp::kAllToAll:
        return received_slot(rank, cell);
    }
    return std::nullopt;
  }

 private:
  ByteRange block(int rank) const {
    return block_range(plan_.call.bytes, plan_.call.rank_count, rank, plan_.call.element_bytes);
  }
  bool in_block(int rank, std::int64_t cell) const {
    const ByteRange own = block(rank);
    const std::int64_t byte = cell * plan_.cell_bytes;
    return byte >= own.offset && byte < own.offset + own.bytes;
  }
  int owner(std::int64_t cell) const {
    int rank = 0;
    while (!in_block(rank, cell)) ++rank;
    return rank;
  }
  std::optional<SymbolicValue> received_slot(int rank, std::int64_t cell) const {
    const std::int64_t byte = cell * plan_.cell_bytes - plan_.call.bytes;
    if (byte < 0) return std::nullopt;
    const ByteRange own = block(rank);
    return of_rank(static_cast<int>(byte / own.bytes),
                   (own.offset + byte % own.bytes) / plan_.cell_bytes);
  }

  const PlanCase& plan_;
  std::bitset<kCheckedRanksMax> all_;
};

}  // namespace forescale
