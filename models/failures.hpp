// Nodes that fail, and checkpoints to go on from.
//
// Failures of a job's nodes come as a Poisson process, one every M = MTBF of a node / nodes. After
// `every` of work a checkpoint is written, for which training stands still; after a failure the job
// is started again, which may fail too, and all since the last checkpoint is lost. Then the work
// done in wall-clock time, on average (Daly, A higher order estimate of the optimum checkpoint
// interval for restart dumps, FGCS 22, 2006, equation 13, exact for exponential times):
//   goodput = every / (M e^(restart / M) (e^((every + checkpoint) / M) - 1))
// Not in it: failures that come together, nodes that wait to be replaced, checkpoints written
// beside training.
#pragma once

#include <optional>
#include <string>

#include "base/units.hpp"

namespace forescale {

struct Failures {
  Seconds node_mtbf;   // of one node, with all its GPUs
  Seconds checkpoint;  // training stands still for it
  Seconds restart;     // from a failure to the first iteration after the last checkpoint
  std::optional<Seconds> every = {};  // of work between checkpoints; nothing: as is best
};

// "mtbf=6300h,checkpoint=60s,restart=10min", and "every=30min" if not the best. InputError naming
// `source` for anything else.
Failures parse_failures(const std::string& text, const std::string& source);

struct Goodput {
  double share = 1;    // of wall-clock time that training goes on
  Seconds mtbf;        // of the job
  Seconds every = {};  // of work between checkpoints
};
Goodput goodput_of(const Failures& failures, int nodes);

// "6.2 days", "41 min": for people, who count failures in those.
std::string long_time_text(Seconds time);

}  // namespace forescale
