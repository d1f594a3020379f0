// What each rank has before a collective and must have after it, as symbols: whose contributions,
// to which element, a cell is the sum of. The contract of operation.hpp, executable.
#pragma once

#include <fmt/format.h>

#include <bitset>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/check/plan_check.hpp"
#include "algorithms/operation.hpp"

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

// What the contract in operation.hpp says of each cell, before and after. Cells, not bytes.
class CollectiveContract {
 public:
  explicit CollectiveContract(const PlanCase& plan) : plan_(plan), operation_(operation(plan.op)) {
    for (int rank = 0; rank < plan.call.rank_count; ++rank)
      all_.set(static_cast<std::size_t>(rank));
  }

  std::int64_t cells(int rank) const {
    return buffer_bytes(plan_.op, plan_.call, rank) / plan_.cell_bytes;
  }

  SymbolicValue before(int rank, std::int64_t cell) const {
    const bool holds =
        operation_.has_input(rank, plan_.call.root) && is_in(operation_.before.part, rank, cell);
    return holds ? of_rank(rank, cell) : SymbolicValue{};
  }

  // Nothing where the contract leaves it open.
  std::optional<SymbolicValue> after(int rank, std::int64_t cell) const {
    if (!operation_.has_result(rank, plan_.call.root) || !is_in(operation_.after.part, rank, cell))
      return std::nullopt;
    if (operation_.after.part == Part::kSlots) return received_slot(rank, cell);
    if (operation_.after.part == Part::kPrevious)
      return of_rank((rank + plan_.call.rank_count - 1) % plan_.call.rank_count,
                     cell - plan_.call.bytes / plan_.cell_bytes);
    if (operation_.sums) return SymbolicValue{.ranks = all_, .element = cell};
    return of_rank(origin(rank, cell), cell);
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
  bool is_in(Part part, int rank, std::int64_t cell) const {
    const bool is_behind = cell >= plan_.call.bytes / plan_.cell_bytes;
    if (part == Part::kOwnBlock) return in_block(rank, cell);
    return is_behind == (part == Part::kSlots || part == Part::kPrevious);
  }
  // Whose value a cell takes that is passed on.
  int origin(int rank, std::int64_t cell) const {
    if (operation_.before.root_only) return plan_.call.root;
    if (operation_.before.part != Part::kOwnBlock) return rank;
    int owner = 0;
    while (!in_block(owner, cell)) ++owner;
    return owner;
  }
  SymbolicValue received_slot(int rank, std::int64_t cell) const {
    const std::int64_t byte = cell * plan_.cell_bytes - plan_.call.bytes;
    const ByteRange own = block(rank);
    return of_rank(static_cast<int>(byte / own.bytes),
                   (own.offset + byte % own.bytes) / plan_.cell_bytes);
  }

  const PlanCase& plan_;
  const Operation& operation_;
  std::bitset<kCheckedRanksMax> all_;
};

}  // namespace forescale
