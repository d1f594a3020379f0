// Whether measured ranks hang together: groups, times, sizes, and the order of their collectives.
#pragma once

#include <string>
#include <vector>

#include "traces/measured/measured.hpp"

namespace forescale {

inline constexpr std::int64_t kExtent_ns_max = 1'000'000'000'000'000'000;  // 1e9 s

// One name that all ranks of a collective's group give it; the ranks themselves where they are not
// all of `world`.
std::string group_key(const MeasuredCollective& collective, int world);
// What --size calls a collective: its kernel, or else its operation.
std::string size_name(const MeasuredCollective& collective);
bool is_of_all(const MeasuredCollective& collective, int world);

// InputError naming the file and what is wrong: groups of ranks that are not there, other steps
// than the first rank's, more than 1e9 s, sizes that are not known, collectives that do not match.
void check_ranks(const std::vector<MeasuredRank>& ranks, int world);

}  // namespace forescale
