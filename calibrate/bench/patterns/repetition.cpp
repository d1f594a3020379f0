#include "calibrate/bench/patterns/repetition.hpp"

#include <vector>

#include "calibrate/bench/polled.hpp"

namespace forescale {
namespace {

bool is_enough(const RepetitionRule& rule, const std::vector<double>& times_s, double spent_s) {
  const int count = static_cast<int>(times_s.size());
  if (count < rule.minimum) return false;
  if (count >= rule.maximum || spent_s >= rule.budget_s) return true;
  return summarize(times_s).is_within(rule.relative_interval);
}

}  // namespace

SampleSummary repeat(MPI_Comm communicator, const Patience& patience, const RepetitionRule& rule,
                     const std::function<std::optional<double>()>& once) {
  const bool decides = rank_in(communicator) == 0;
  const double begin_s = clock_s();
  std::vector<double> times_s;
  int to_warm_up = rule.warm_up;
  for (int goes_on = 1; goes_on != 0;) {
    const std::optional<double> time_s = once();
    if (!decides) {
      // Only rank 0 counts.
    } else if (to_warm_up > 0) {
      --to_warm_up;
    } else if (time_s) {
      times_s.push_back(*time_s);
    }
    if (decides) goes_on = is_enough(rule, times_s, clock_s() - begin_s) ? 0 : 1;
    tell_all(&goes_on, sizeof goes_on, communicator, patience);
  }
  return summarize(std::move(times_s));
}

}  // namespace forescale
