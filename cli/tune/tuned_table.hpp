// What `tune collective` has found, for people and for spreadsheets.
#pragma once

#include <string>
#include <vector>

#include "studies/tune/tune_collective.hpp"

namespace forescale {

// A line a point; `is_offered`: with the best of what is offered and what that loses.
void print_tuned_points(const std::vector<TunedPoint>& points, bool is_offered);
// A line a region under `title`.
void print_tuned_regions(const std::vector<TunedRegion>& regions, const std::string& title);
void print_tuned_csv(const std::vector<TunedPoint>& points);

}  // namespace forescale
