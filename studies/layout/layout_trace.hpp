// A layout's predicted iteration as a timeline: a line for each pipeline rank, its passes and what
// it sends beside them.
#pragma once

#include <iosfwd>

#include "studies/layout/layout_prediction.hpp"

namespace forescale {

// Chrome trace JSON; of a prediction that may fit.
void write_layout_trace(const LayoutPrediction& prediction, std::ostream& out);

}  // namespace forescale
