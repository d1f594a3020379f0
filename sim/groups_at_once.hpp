// Groups that call the same collective at the same moment: one GPU of every node each, say, or jobs
// beside each other.
#pragma once

#include <vector>

#include "sim/resolved_call.hpp"

namespace forescale {

// Of `others`, as large as the call's own group, those that are in its way: some link or cap that
// messages of several groups cross is too narrow for what all of them could send at once; or in the
// way of one that is. The call's algorithm counts, its bytes do not (but for rules by size).
std::vector<SharedGroup> groups_in_the_way(const ResolvedCall& resolved,
                                           const std::vector<SharedGroup>& others);

}  // namespace forescale
