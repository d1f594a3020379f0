// How long a pipeline takes for very many micro-batches, from a few of them.
//
// Once it is full, a rank does with every further round of micro-batches what it did with the round
// before, so many seconds later. Where that is so of all passes of all ranks, nothing that comes
// can tell one round from the next: what is left then ends as much later. It is seen in the middle
// of a few micro-batches, and in what another round adds at the end; where it is not, as in GPipe,
// whose ranks take all micro-batches through before the first comes back, all are walked.
#pragma once

#include <vector>

#include "algorithms/layout/pipeline.hpp"

namespace forescale {

// Of a copy's iteration.
struct PipelineTotals {
  double passes_end_s = 0;             // PipelineTimes
  double end_s = 0;                    //
  std::vector<double> forward_s = {};  // by rank, of its passes forward
  std::vector<double> backward_s = {};
};

PipelineTotals totals_of(const PipelineTimes& times);

// Of pipeline_times(), to 1e-9.
std::vector<PipelineTotals> pipeline_totals(const PipelineSchedule& schedule,
                                            const PipelineShape& shape,
                                            const std::vector<PipelineCopy>& copies);

// With as few micro-batches as hold, on every rank, as many activations at once as all do.
PipelineShape holding_as_many(const PipelineSchedule& schedule, const PipelineShape& shape);

}  // namespace forescale
