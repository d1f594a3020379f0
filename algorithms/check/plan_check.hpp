// Is a plan right? Executes the streams of all ranks symbolically, without time.
//
// Checked: operations stay inside the buffer, name a peer, move whole elements and never nothing,
// look back not before their first operation; every send is matched by a receive of equal size in
// its queue; no read after write, write after read or write after write is left unordered by
// `after` and `write_after`, whether queues are known or not; nothing deadlocks under rendez-vous
// with one send and one receive in progress per rank, distances cut to kLookback; each contribution
// arrives exactly once where collective.hpp says.
//
// Ordered means: known from what one rank sees of its own operations, so that an executor needs no
// knowledge of other ranks. Two recv_reduce into the same bytes need no order: a rank reduces one
// at a time, and sums commute.
// Limits: memory and time grow with rank_count * elements and with the operations of all ranks;
// meant for up to kCheckedRanksMax ranks and small vectors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/collective.hpp"

namespace forescale {

inline constexpr int kCheckedRanksMax = 256;

// What is wrong, at most a few lines a rank; empty: nothing. An invalid call is an InputError.
std::vector<std::string> check_plan(const Collective& collective, const CollectiveCall& call);

// The steps of it. A case holds every rank's operations, and the cells, elements or single bytes,
// in which buffers are compared.
struct PlanCase {
  CollectiveOp op = CollectiveOp::kReduce;
  CollectiveCall call;
  std::int64_t cell_bytes = 1;
  std::vector<std::vector<Op>> ops;  // [rank][position in the stream]
};

std::vector<std::string> check_operations(const PlanCase& plan);
std::vector<std::string> check_matching(const PlanCase& plan);
std::vector<std::string> check_hazards(const PlanCase& plan);
std::vector<std::string> check_delivery(const PlanCase& plan);  // and deadlock

// "receive 128 bytes from rank 2 (operation 5)".
std::string describe(const Op& op, std::size_t position);

}  // namespace forescale
