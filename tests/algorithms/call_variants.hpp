// The calls that a registry-driven test makes of one collective: roots, chunks, chain sizes and
// levels, as far as the collective reads them and does not refuse the call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "algorithms/collective.hpp"

namespace forescale::testing {

struct Variants {
  std::vector<std::int64_t> chunk_bytes;
  std::vector<int> chain_sizes;
  std::vector<std::string> levels;
};

inline bool reads(const Collective& collective, CollectiveOption option) {
  return std::count(collective.options.begin(), collective.options.end(), option) > 0;
}

inline std::vector<CollectiveCall> calls_of(const Collective& collective, int rank_count,
                                            std::int64_t bytes, Variants variants) {
  if (!reads(collective, CollectiveOption::kChunkBytes)) variants.chunk_bytes = {0};
  if (!reads(collective, CollectiveOption::kChainSize)) variants.chain_sizes = {8};
  if (!reads(collective, CollectiveOption::kLevels)) variants.levels = {""};
  std::set<int> roots = {0};
  if (has_root(collective.op)) roots = {0, std::min(1, rank_count - 1), rank_count - 1};

  std::vector<CollectiveCall> calls;
  for (const int root : roots)
    for (const std::int64_t chunk : variants.chunk_bytes)
      for (const int chain_size : variants.chain_sizes)
        for (const std::string& levels : variants.levels) {
          CollectiveCall call{.rank_count = rank_count, .bytes = bytes, .root = root};
          call.options = {.chunk_bytes = chunk, .chain_size = chain_size, .levels = levels};
          if (collective.refuse == nullptr || collective.refuse(call).empty())
            calls.push_back(call);
        }
  return calls;
}

inline std::string to_text(const Collective& collective, const CollectiveCall& call) {
  return collective.name + " ranks " + std::to_string(call.rank_count) + " bytes " +
         std::to_string(call.bytes) + " root " + std::to_string(call.root) + " chunk " +
         std::to_string(call.options.chunk_bytes) + " chain " +
         std::to_string(call.options.chain_size) + " levels " + call.options.levels;
}

}  // namespace forescale::testing
