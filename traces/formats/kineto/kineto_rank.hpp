// One rank's timeline from PyTorch's profiler.
#pragma once

#include <string>

#include "traces/measured/measured.hpp"

namespace forescale {

// `is_alone`: no other rank's timeline is given. InputError, with the byte, for what is no such
// file.
MeasuredRank read_kineto(const std::string& file, bool is_alone);

}  // namespace forescale
