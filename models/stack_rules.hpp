// How the rules of a stack file are read: paths, reductions, choices of an algorithm.
#pragma once

#include "models/stack.hpp"

namespace forescale {

// A rate, or 0 where the key is missing.
BytesPerSecond cap_or_none(const JsonInput& in, const char* key);

// `protocols` are the stack's; a path's new one is added, what else names one must find it there.
int known_protocol(const JsonInput& in, const std::vector<std::string>& protocols);
PathRule read_path(const JsonInput& in, std::vector<std::string>& protocols);
// `keys` and those of a CallRange, for JsonInput::allow_only().
std::vector<std::string> with_call_range(std::vector<std::string> keys);
CallRange read_call_range(const JsonInput& in);
RankOrders read_orders(const JsonInput& in);
// One whose protocol and orders `stack` knows.
SelectionRule read_selection(const JsonInput& in, const Stack& stack);
ReductionRule read_reduction(const JsonInput& in);

}  // namespace forescale
