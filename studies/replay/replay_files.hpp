// What a replay writes besides its answer: timelines, replayed and measured, and the links' use.
#pragma once

#include "studies/replay/replay.hpp"
#include "topologies/platform.hpp"
#include "traces/measured/measured_run.hpp"
#include "traces/timeline/cause_log.hpp"
#include "traces/timeline/link_use.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {

// The last iteration of a replay.
struct ReplayedIteration {
  const Platform& platform;
  int rank_count = 0;
  double begin_s = 0;
  Timeline& timeline;
  const CriticalPath& path;
  const LinkUse::Curves& links;
  const MeasuredRun& measured;
};

// The measured step is drawn as ranks of its own that begin with the replayed iteration, the
// critical path as one more. InputError naming the option whose file cannot be written.
void write_replay_files(const ReplayedIteration& iteration, const ReplayFiles& files);

}  // namespace forescale
