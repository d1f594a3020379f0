#include "algorithms/phase.hpp"

namespace forescale {

const char* name_of(TimeKind kind) {
  switch (kind) {
    case TimeKind::kCompute:
      return "compute";
    case TimeKind::kCommunication:
      return "communication";
    case TimeKind::kInput:
      return "input";
    case TimeKind::kWaiting:
      return "waiting";
  }
  return "";
}

PhaseTimes by_name(const std::array<double, kPhases.size()>& phase_s, double idle_s) {
  PhaseTimes times = {{"idle", idle_s}};
  for (const PhaseEntry& entry : kPhases)
    times[entry.name] = phase_s[static_cast<size_t>(entry.phase)];
  return times;
}

double time_of(const PhaseTimes& times, Phase phase) {
  const auto entry = times.find(name_of(phase));
  return entry == times.end() ? 0 : entry->second;
}

double time_of(const PhaseTimes& times, TimeKind kind) {
  double sum_s = 0;
  for (const PhaseEntry& entry : kPhases)
    if (entry.kind == kind) sum_s += time_of(times, entry.phase);
  return sum_s;
}

}  // namespace forescale
