// Where a rank's time goes, and what followed from what.
#include <fmt/format.h>

#include <algorithm>

#include "sim/run/session_parts.hpp"

namespace forescale {

void Session::account(int rank) {
  Rank& state = *ranks_[static_cast<size_t>(rank)];
  const double now_s = world_.now_s();
  const double passed_s = now_s - state.accounted_s;
  state.accounted_s = now_s;
  if (passed_s <= 0) return;
  for (const auto& busy : {state.kernels_running, state.waits}) {
    for (size_t phase = 0; phase < busy.size(); ++phase) {
      if (busy[phase] == 0) continue;
      state.attribution.phase_s[phase] += passed_s;
      return;
    }
  }
  state.attribution.idle_s += passed_s;
}

void Session::account_overlap(int rank) {
  Rank& state = *ranks_[static_cast<size_t>(rank)];
  const double passed_s = world_.now_s() - state.overlap_accounted_s;
  state.overlap_accounted_s = world_.now_s();
  if (passed_s <= 0 || state.communications == 0) return;
  state.attribution.communication_s += passed_s;
  const bool computes = std::any_of(state.kernels_running.begin(), state.kernels_running.end(),
                                    [](int count) { return count > 0; });
  if (computes) state.attribution.hidden_s += passed_s;
}

void Session::communicates(int rank, int change) {
  account_overlap(rank);
  ranks_[static_cast<size_t>(rank)]->communications += change;
}

CauseLog::Moment Session::happened(int rank, CauseLog::Moment after, Cause cause,
                                   const std::string& label, double late_s) {
  if (options_.causes == nullptr) return CauseLog::kStart;
  return options_.causes->add(rank, world_.now_s(), after, cause, label, late_s);
}

// Paths and curves are asked for the last iterations, which other ranks and the work for them may
// have begun in the one before: what is older is forgotten.
void Session::end_iteration(int rank, CauseLog::Moment moment) {
  iteration_moments_[static_cast<size_t>(rank)].push_back(moment);
  if (rank >= worker_count_) return;
  const size_t number = iteration_moments_[static_cast<size_t>(rank)].size() - 1;
  iterations_ended_by_.resize(std::max(iterations_ended_by_.size(), number + 1));
  if (++iterations_ended_by_[number] < worker_count_) return;
  all_ended_s_.push_back(world_.now_s());
  if (all_ended_s_.size() < 3 || number > options_.keeps_from) return;
  const double begin_s = all_ended_s_[all_ended_s_.size() - 3];
  if (options_.causes != nullptr) options_.causes->forget_before(begin_s);
  if (options_.links != nullptr) options_.links->keep_from(begin_s);
}

// Follows from the last call so far; calls come in order of time. Late by that over the call in the
// middle.
CauseLog::Moment Session::collective_happened(const CollectiveRequest& request) {
  const Operation& operation = *request.operation;
  if (options_.causes == nullptr) return CauseLog::kStart;
  const std::vector<double>& calls_s = operation.calls_s;
  return happened(
      request.rank, operation.last_call, Cause::kCollective,
      fmt::format("{} {}", operation.step.is_message ? "message" : name_of(operation.step.op),
                  operation.step.label),
      calls_s.back() - calls_s[(calls_s.size() - 1) / 2]);
}

}  // namespace forescale
