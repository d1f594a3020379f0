// Conditions of MPICH's selection tree (settings_mpich.hpp): what its keys ask about a call.
// Source: pmodels/mpich v4.0.2, src/mpi/coll/src/csel.c.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "algorithms/collective.hpp"

namespace forescale {

// FP32, a built-in sum, ranks that have a node each.
struct MpichCall {
  CollectiveOp op = CollectiveOp::kAllReduce;
  int ranks = 0;
  std::int64_t bytes = 0;
};

// Whether a condition ("comm_size<=8", without blanks) is met; nothing when MPICH does not know it.
std::optional<bool> is_met_in_mpich(const std::string& condition, const MpichCall& call);

// Of these MPICH asks for another one behind them, to be tried where they are not met.
bool is_mpich_threshold(const std::string& condition);

}  // namespace forescale
