// PyTorch's execution traces: sizes of collectives and gradients, which some timelines lack.
#pragma once

#include <string>

#include "traces/measured/measured.hpp"

namespace forescale {

// By the first bytes of a file.
bool is_execution_trace(const std::string& head);

// Gives `rank` the sizes that it lacks. The execution trace covers one iteration or more: its
// collectives, in order, are those of the timeline again and again. InputError where they are not.
void add_execution_trace(const std::string& file, MeasuredRank& rank);

}  // namespace forescale
