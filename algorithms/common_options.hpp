// Options that many collectives declare.
#pragma once

#include <string>
#include <vector>

#include "base/option.hpp"

namespace forescale {

inline const Option kChunkBytes{
    .name = "chunk_bytes",
    .summary = "Pipelining unit, such as 4MiB; none: the whole message in one chunk",
    .unit = OptionUnit::kBytes,
    .min = 1,
    .checked = {"", "", "8B", "52B", "4B"}};

inline const Option kChainSize{.name = "chain_size",
                               .summary = "Ranks in a lower chain (CC-k, CB-k)",
                               .unit = OptionUnit::kCount,
                               .fallback = 8,
                               .min = 1,
                               .max = 1 << 20,
                               .checked = {"", "2", "3", "", "4"},
                               .replaced_by = "levels"};

// "8,3,5": groups of neighbouring ranks that are not all of one size. InputError naming `source`.
std::vector<int> parse_group_sizes(const std::string& text, const std::string& source);

inline const Option kGroupSizes{
    .name = "group_sizes",
    .summary = "Ranks of every group, first to last: 8,3,5",
    .unit = OptionUnit::kText,
    .check_text = [](const std::string& text, const std::string& source) {
      parse_group_sizes(text, source);
    }};

}  // namespace forescale
