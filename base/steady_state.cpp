#include "base/steady_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace forescale {
namespace {

double mean_between(const std::vector<double>& values, size_t begin, size_t end) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += values[i];
  return sum / static_cast<double>(end - begin);
}

void settle(SteadyState& state) {
  const std::vector<double>& periods = state.periods_s;
  const size_t count = periods.size();
  constexpr double kSame = 1e-6;
  state.period_s = periods.back();
  state.begin = count - 1;
  if (std::abs(periods[count - 1] - periods[count - 2]) <= kSame * periods.back()) return;
  state.begin = first_to_count(count);
  state.period_s = mean_between(periods, state.begin, count);
  // Of three iterations or so only two count, which are no halves: they have to be closer.
  constexpr size_t kTwoHalves = 4;
  constexpr double kHalvesAgree = 0.01;
  constexpr double kTwoAgree = 0.001;
  const size_t middle = (state.begin + count) / 2;
  const double apart_s = middle == state.begin
                             ? state.period_s
                             : std::abs(mean_between(periods, state.begin, middle) -
                                        mean_between(periods, middle, count));
  const double agreed = count - state.begin >= kTwoHalves ? kHalvesAgree : kTwoAgree;
  state.is_steady = apart_s <= agreed * state.period_s;
}

// Ranks go at their own pace: together they train the sum of their rates. Steady when the last
// third goes as fast as the one before.
void settle_each(SteadyState& state, const std::vector<std::vector<double>>& ends_s,
                 const std::vector<std::int64_t>& images) {
  const auto period_between_s = [&](size_t from, size_t to) {
    double all_images = 0;
    double images_per_s = 0;
    for (size_t rank = 0; rank < ends_s.size(); ++rank) {
      const std::vector<double>& ends = ends_s[rank];
      const auto batch = static_cast<double>(images[rank]);
      all_images += batch;
      images_per_s += batch * static_cast<double>(to - from) / (ends[to] - ends[from]);
    }
    return all_images / images_per_s;
  };
  const size_t iterations = state.periods_s.size();
  const size_t last = iterations - 1;
  const size_t first = first_to_count(iterations) - 1;
  const size_t middle = (first + last) / 2;
  state.period_s = period_between_s(first, last);
  state.begin = first + 1;
  constexpr double kSteady = 0.02;
  state.is_steady = middle > first &&
                    std::abs(period_between_s(first, middle) - period_between_s(middle, last)) <=
                        kSteady * state.period_s;
}

}  // namespace

std::string counted_text(size_t count, size_t begin) {
  const std::string which = count == 1           ? "the only iteration"
                            : begin + 1 == count ? fmt::format("iteration {} of {}", count, count)
                                                 : fmt::format("mean of iterations {} to {} of {}",
                                                               begin + 1, count, count);
  return which + "; each ends when all that it launched is done";
}

SteadyState steady_state(const std::vector<std::vector<double>>& ends_s,
                         const std::vector<std::int64_t>& images, bool is_asynchronous) {
  FORESCALE_CHECK(!ends_s.empty() && !ends_s.front().empty(), "there is an iteration to be timed");
  SteadyState state;
  double previous_s = 0;
  for (size_t i = 0; i < ends_s.front().size(); ++i) {
    double end_s = 0;
    for (const std::vector<double>& ends : ends_s) end_s = std::max(end_s, ends.at(i));
    state.periods_s.push_back(end_s - previous_s);
    previous_s = end_s;
  }
  if (state.periods_s.size() == 1)
    state.period_s = previous_s;
  else if (is_asynchronous)
    settle_each(state, ends_s, images);
  else
    settle(state);
  return state;
}

}  // namespace forescale
