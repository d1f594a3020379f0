// A ring over nodes that are all alike: simulated on a few of them, in place of all.
//
// In each step of a ring every rank does the same, and where messages between nodes share nothing
// with those of other nodes, a step takes as long whatever the number of nodes: with blocks of one
// size, what is simulated grows by the same with each step. Three counts of nodes show whether it
// does. With one GPU a node it does to 1e-9; where rings of several GPUs meet on a node's links,
// who comes first differs from step to step, and so do steps, by a few per cent.
#pragma once

#include <cstdint>
#include <string>

#include "sim/resolved_call.hpp"
#include "sim/run/simulate.hpp"

namespace forescale {

// Fewer ranks than that are simulated whole where folding is not exact.
inline constexpr int kWholeRingRanksMax = 512;
// Fewer nodes than that always.
inline constexpr int kFoldedRingNodesMin = 64;

// Why the call is none of those: another algorithm, nodes that differ, a fabric that messages of
// several nodes share. Empty: it can be folded.
std::string why_not_folded(const ResolvedCall& resolved);

struct FoldedRing {
  CollectiveOutcome outcome;  // what simulate_collective() gives for all ranks
  std::int64_t ranks = 0;     // simulated at once, at most
  double error = 0;           // relative, of its time; 0: exact to 1e-9
};
// Of a call that can be. Simulates in processes of its own.
FoldedRing simulate_folded_ring(const ResolvedCall& resolved);

}  // namespace forescale
