// One rank's timeline from PyTorch's profiler.
#pragma once

#include <string>

#include "traces/measured/measured.hpp"

namespace forescale {

// InputError, with the byte, for what is no such file.
MeasuredRank read_kineto(const std::string& file);

}  // namespace forescale
