// Turns (automorphisms) of a plan: its roles are cut into blocks, and every block does what the
// first does, with all peers turned as far. Where the machine is alike for them too, the first
// stands for all.
#pragma once

#include <cstdint>
#include <optional>

#include "algorithms/collective.hpp"

namespace forescale {

struct RoleTurn {
  int block = 0;        // roles of each
  int blocks = 1;       // 1: nothing turns
  bool is_xor = false;  // block b goes to b xor `by`; else to (b + by) mod blocks

  int turned(int role, int by) const {
    const int from = role / block;
    return role % block + block * (is_xor ? from ^ by : (from + by) % blocks);
  }
  // By how much a role of the first block is turned, to be this one.
  int by(int role) const { return role / block; }
  int back(int role, int by) const { return turned(role, is_xor ? by : blocks - by); }
  // So many blocks as one.
  RoleTurn coarser(int times) const {
    return {.block = block * times, .blocks = blocks / times, .is_xor = is_xor};
  }
};

// The turn with the smallest blocks of so many roles, or times as many; nothing where there is
// none, or where more than `operations` of the plan would have to be read.
std::optional<RoleTurn> finest_turn(const Collective& collective, const CollectiveCall& call,
                                    int unit, std::uint64_t operations);

}  // namespace forescale
