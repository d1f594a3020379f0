// A picture of collectives, predicted and measured, as SVG.
#pragma once

#include <string>
#include <vector>

#include "studies/execute/collective_comparison.hpp"

namespace forescale {

// A panel for each plan: time over size, both logarithmic; a line and a band for what was predicted
// with its interval, dots for what was measured; a colour for each rank count. Needs no script and
// no other file.
std::string collective_chart(const std::vector<CollectiveRow>& rows, const std::string& title);

}  // namespace forescale
