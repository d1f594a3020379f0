// How ranks fall into groups that call a collective at once, as nccl-tests' NCCL_TESTS_SPLIT has
// it: "mod8", every eighth rank, or "div8", eight in a row ("MOD 8" and "DIV 8" there).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forescale {

struct RankSplit {
  bool is_modulo = true;
  std::int64_t count = 1;
};
// InputError naming `source`.
RankSplit parse_split(const std::string& text, const std::string& source);

// Ranks 0 to `ranks` - 1. InputError where they do not divide into groups of one size.
std::vector<std::vector<int>> groups_of_ranks(std::int64_t ranks, const RankSplit& split,
                                              const std::string& source);

}  // namespace forescale
