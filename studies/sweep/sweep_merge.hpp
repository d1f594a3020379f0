#pragma once

#include <string>
#include <vector>

namespace forescale {

// Joins the answers in `inputs` (SweepDatabase files) in the file `output`, which is made or, when
// it holds the same study, added to. A point that is done in one and has failed in another is done.
// InputError when they belong to different studies, versions or input files, or when a point has
// two answers; `output` is then as it was.
void merge_sweeps(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace forescale
