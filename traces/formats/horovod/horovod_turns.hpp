// When Horovod's coordinator starts its collectives: what it waits for and what it takes itself.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/formats/horovod/horovod_timeline.hpp"

namespace forescale {

struct HorovodTurn {
  std::vector<int> ended;     // collectives before it that were over when it began
  std::int64_t delay_ns = 0;  // from the last of: all ranks are ready, those are over, the
                              // collective before it began; until it began
};

// By collective.
std::vector<HorovodTurn> horovod_turns(const HorovodTimeline& timeline);

}  // namespace forescale
