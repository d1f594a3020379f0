// Which ranks a collective of a measured rank is of, where its trace does not say it in so many
// words.
#pragma once

#include "traces/measured/measured.hpp"

namespace forescale {

// Groups of which the trace gives the number of ranks only, or which its sizes contradict: an
// all-gather whose output is 8 times its input is one of 8 ranks, taken to be neighbours. Notes say
// what was taken. `rank.rank` is known. InputError for a group that cannot be so many neighbours.
void resolve_groups(MeasuredRank& rank, int world);

// The least world that has all ranks that the trace names; 0: it names none.
int least_world(const MeasuredRank& rank);

}  // namespace forescale
