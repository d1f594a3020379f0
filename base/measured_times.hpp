// Single times that were measured of the same work, from a file.
#pragma once

#include <string>
#include <vector>

namespace forescale {

// One a line, in any unit, below a heading if there is one; of a CSV file its first column. At
// least ten. InputError naming file and line.
std::vector<double> read_measured_times(const std::string& file);

}  // namespace forescale
