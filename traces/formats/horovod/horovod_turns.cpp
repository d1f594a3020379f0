#include "traces/formats/horovod/horovod_turns.hpp"

#include <algorithm>
#include <utility>

namespace forescale {
namespace {

std::int64_t last_ready_ns(const HorovodTimeline& timeline, const HorovodCollective& all) {
  std::int64_t last_ns = 0;
  for (const int index : all.calls) {
    const HorovodCall& call = timeline.calls[static_cast<size_t>(index)];
    const bool all_tick = call.ticks.size() >= static_cast<size_t>(timeline.ranks);
    last_ns = std::max(last_ns, all_tick ? call.ticks.back().time_ns : call.ready_ns);
  }
  return last_ns;
}

}  // namespace

std::vector<HorovodTurn> horovod_turns(const HorovodTimeline& timeline) {
  std::vector<HorovodTurn> turns;
  std::vector<int> running;
  std::int64_t before_ns = 0;
  for (const HorovodCollective& all : timeline.collectives) {
    HorovodTurn turn;
    std::int64_t since_ns = std::max(before_ns, last_ready_ns(timeline, all));
    std::vector<int> still;
    for (const int other : running) {
      const std::int64_t end_ns = timeline.collectives[static_cast<size_t>(other)].span.end_ns;
      const bool is_over = end_ns <= all.span.begin_ns;
      (is_over ? turn.ended : still).push_back(other);
      if (is_over) since_ns = std::max(since_ns, end_ns);
    }
    turn.delay_ns = std::max<std::int64_t>(all.span.begin_ns - since_ns, 0);
    before_ns = all.span.begin_ns;
    still.push_back(static_cast<int>(turns.size()));
    running = std::move(still);
    turns.push_back(std::move(turn));
  }
  return turns;
}

}  // namespace forescale
