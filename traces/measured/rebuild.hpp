// A program from what profilers saw: dependencies rebuilt, compute times kept, communication left
// to be simulated.
#pragma once

#include "traces/formats/trace_format.hpp"
#include "traces/measured/measured.hpp"

namespace forescale {

// Ranks in any order; one may stand for all. InputError for sizes and groups that are not known,
// ranks that are missing, collectives in which ranks disagree.
ImportedTrace rebuild(std::vector<MeasuredRank> ranks, const ImportOptions& options);

}  // namespace forescale
