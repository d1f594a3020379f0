// How the rules of a stack file are read: paths, reductions, choices of an algorithm.
#pragma once

#include "models/stack.hpp"

namespace forescale {

// A rate, or 0 where the key is missing.
BytesPerSecond cap_or_none(const JsonInput& in, const char* key);

// `protocols` are the stack's; a path's new one is added, what else names one must find it there.
int known_protocol(const JsonInput& in, const std::vector<std::string>& protocols);
PathRule read_path(const JsonInput& in, std::vector<std::string>& protocols);
SelectionRule read_selection(const JsonInput& in, const std::vector<std::string>& protocols);
ReductionRule read_reduction(const JsonInput& in);

}  // namespace forescale
