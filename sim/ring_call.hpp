// A call around a ring, by its passes, steps and blocks.
#pragma once

#include <cstdint>

#include "sim/resolved_call.hpp"

namespace forescale {

bool is_ring(const Collective& collective);
// Around the ring: an all-reduce adds on the first and copies on the second.
int ring_passes(CollectiveOp op);
// Of all passes.
double ring_steps(CollectiveOp op, double ranks);
// Of all groups that call.
double ring_messages(const ResolvedCall& resolved);
// What so many ranks call for with blocks of one size, that of the call's largest.
std::int64_t bytes_of_even_blocks(const ResolvedCall& resolved, std::int64_t ranks);
// By how much these are larger than the call's, which are of two sizes where its elements do not
// divide into as many. Relative.
double blocks_rounded(const ResolvedCall& resolved);
// Whether several parts cross the link of the first node that is busiest. Where ranks begin at
// different times they then keep each other waiting, and the link is not always busy: a part has a
// block a rank, so every one that waits is one less under way.
bool parts_share_busiest_link(const ResolvedCall& resolved);

}  // namespace forescale
