// Collectives over many nodes that are alike, simulated on a few of them and as long as that says:
// rings, and NCCL's trees. And whether that, or a few steps of all, pays.
//
// Where messages between nodes share nothing with those of other nodes, a step of a ring takes as
// long whatever the number of nodes: with blocks of one size, what is simulated grows by the same
// with each step. A tree becomes deeper by a level with each doubling of the nodes, and its chunks
// follow each other as fast. Three numbers of nodes show whether it is so. With one GPU a node a
// ring does to 1e-9; where parts of a call meet on a node's links, who comes first differs from
// step to step, and so do steps, by a few per cent; three numbers of nodes on a line are not taken
// for exact there. Nodes with links that are not as those of the others (--link) are among the few.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "sim/alike_members.hpp"
#include "sim/cost_engine.hpp"
#include "sim/resolved_call.hpp"
#include "sim/run/simulate.hpp"

namespace forescale {

// All is simulated whole of up to so many messages, a second or two (of the members that stand for
// all: sim/alike_members.hpp), on kMaxRanks at most, and of trees on up to so many nodes.
inline constexpr std::uint64_t kWholeMessagesMax = 200000;
inline constexpr int kWholeNodesMax = 63;
inline constexpr int kFoldedNodesMin = 16;
inline constexpr int kFoldedWideNodesMin = 12;  // rings of many GPUs each
// Relative: where few say less about all, as of chains of several nodes, all are simulated.
inline constexpr double kMostFoldedError = 0.25;

// Why the call is none of those: another algorithm, few nodes, nodes that differ, a fabric that
// messages of several nodes share. Empty: it can be folded.
std::string why_not_folded(const ResolvedCall& resolved);

struct Folded {
  CollectiveOutcome outcome;  // what simulate_collective() gives for all
  std::int64_t ranks = 0;     // simulated at once, at most
  double error = 0;           // relative, of its time; 0: exact to 1e-9
  bool is_large = false;      // too much to simulate whole
};
void to_json(nlohmann::json& json, const Folded& folded);
void from_json(const nlohmann::json& json, Folded& folded);
// Of one that can be. Simulates in processes of its own.
Folded simulate_folded(const ResolvedCall& resolved);

// Folded where few lie on a line, or where all are too many and few say enough; nothing otherwise.
// `alike`: of the same call; `why_not`: where one that could be folded is not.
std::optional<Folded> fold_where_it_pays(const ResolvedCall& resolved, FoundAlike& alike,
                                         std::string* why_not = nullptr);

// All ranks for a few steps of rings (repeated_steps.hpp) or a few chunks (repeated_chunks.hpp), of
// calls with very many messages; nothing otherwise.
std::optional<Folded> repeat_where_it_pays(const ResolvedCall& resolved, FoundAlike& alike);

// The same for the cost engine, of a call that it prices: a ring, where that is exact.
std::optional<CostResult> cost_of_few(const ResolvedCall& resolved);

// By those, by a few chunks (repeated_chunks.hpp) or whole, up to a limit as evaluate_cost() has.
CostResult price_call(const ResolvedCall& resolved,
                      double limit_s = std::numeric_limits<double>::infinity());

// By either or, where both are nothing, whole and in this process: once a process.
Folded simulate_call(const ResolvedCall& resolved);

}  // namespace forescale
