// What a piece of work or a wait is for, and how an iteration's time is accounted: one table, from
// which columns, sums and the report's page follow.
//
// While a rank's GPU computes, its time goes to the phase of the kernel; else to that of what its
// threads wait for; else it is idle. Of phases at one time the one that stands first here counts.
#pragma once

#include <array>
#include <map>
#include <string>

namespace forescale {

// As in kPhases, where a new one gets its row.
enum class Phase { kForward, kBackward, kUpdate, kPropagation, kAggregation, kInput, kWaiting };

// What a phase counts as.
enum class TimeKind {
  kCompute,
  kCommunication,  // exposed: no kernel runs meanwhile
  kInput,          // training data
  kWaiting         // for ranks that have not called the collective yet; accounting only
};

struct PhaseEntry {
  Phase phase = Phase::kForward;
  const char* name = "";   // in files: "forward", and with its unit "forward_s"
  const char* title = "";  // of a column
  const char* verb = "";   // with which labels of its work begin
  TimeKind kind = TimeKind::kCompute;
};

inline constexpr std::array kPhases{
    PhaseEntry{Phase::kForward, "forward", "fwd", "forward", TimeKind::kCompute},
    PhaseEntry{Phase::kBackward, "backward", "bwd", "backward", TimeKind::kCompute},
    PhaseEntry{Phase::kUpdate, "update", "upd", "update", TimeKind::kCompute},
    // Parameters: broadcast, pull.
    PhaseEntry{Phase::kPropagation, "propagation", "bcast", "broadcast", TimeKind::kCommunication},
    // Gradients: reduce, all-reduce, push.
    PhaseEntry{Phase::kAggregation, "aggregation", "reduce", "reduce", TimeKind::kCommunication},
    PhaseEntry{Phase::kInput, "input", "input", "input", TimeKind::kInput},
    PhaseEntry{Phase::kWaiting, "waiting", "wait", "waiting", TimeKind::kWaiting}};
inline constexpr int kPhaseCount = static_cast<int>(kPhases.size());

constexpr bool phases_stand_in_order() {
  for (int i = 0; i < kPhaseCount; ++i)
    if (static_cast<int>(kPhases[static_cast<size_t>(i)].phase) != i) return false;
  return true;
}
static_assert(phases_stand_in_order(), "a phase is the index of its row");

inline const char* name_of(Phase phase) { return kPhases[static_cast<size_t>(phase)].name; }
const char* name_of(TimeKind kind);

// Times by the names of their phases, s; "idle" is none of them.
using PhaseTimes = std::map<std::string, double>;

PhaseTimes by_name(const std::array<double, kPhases.size()>& phase_s, double idle_s);
// Of one phase; 0 where it is missing.
double time_of(const PhaseTimes& times, Phase phase);
// Of all phases of a kind. This defines what is written as compute_s, exposed_communication_s
// (propagation + aggregation), io_s and waiting_s, wherever they stand.
double time_of(const PhaseTimes& times, TimeKind kind);

}  // namespace forescale
