// The calls that a registry-driven test makes of one collective: roots, chunks, chain sizes and
// levels, as far as the collective reads them and does not refuse the call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "algorithms/common_options.hpp"
#include "algorithms/pieces/levels.hpp"
#include "algorithms/plan_choice.hpp"

namespace forescale::testing {

struct Variants {
  std::vector<std::int64_t> chunk_bytes;
  std::vector<int> chain_sizes;
  std::vector<std::string> levels;

  // Of other options, what their collectives say.
  std::vector<OptionValue> of(const Option& option) const {
    std::vector<OptionValue> values;
    if (option.name == kChunkBytes.name) values.assign(chunk_bytes.begin(), chunk_bytes.end());
    if (option.name == kLevels.name) values.assign(levels.begin(), levels.end());
    if (option.name == kChainSize.name)
      for (const int size : chain_sizes) values.emplace_back(std::int64_t{size});
    if (!values.empty()) return values;
    for (const std::string& text : option.checked)
      values.push_back(text.empty() ? fallback_of(option) : parse_value(option, text, "test"));
    if (values.empty()) values.push_back(fallback_of(option));
    return values;
  }

 private:
  static OptionValue fallback_of(const Option& option) {
    if (option.unit == OptionUnit::kText) return std::string();
    return static_cast<std::int64_t>(option.fallback);
  }
};

inline std::vector<CollectiveCall> calls_of(const Collective& collective, int rank_count,
                                            std::int64_t bytes, const Variants& variants) {
  std::set<int> roots = {0};
  if (has_root(collective.op)) roots = {0, std::min(1, rank_count - 1), rank_count - 1};
  std::vector<CollectiveCall> calls;
  for (const int root : roots) {
    std::vector<CollectiveCall> of_root{
        CollectiveCall{.rank_count = rank_count, .bytes = bytes, .root = root}};
    for (const Option& option : collective.options) {
      std::vector<CollectiveCall> more;
      for (const CollectiveCall& call : of_root)
        for (const OptionValue& value : variants.of(option)) {
          more.push_back(call);
          more.back().options.set(option.name, value);
        }
      of_root = std::move(more);
    }
    for (const CollectiveCall& call : of_root)
      if (collective.refuse == nullptr || collective.refuse(call).empty()) calls.push_back(call);
  }
  return calls;
}

inline std::string to_text(const Collective& collective, const CollectiveCall& call) {
  return plan_text({.collective = &collective, .options = call.options}) + " ranks " +
         std::to_string(call.rank_count) + " bytes " + std::to_string(call.bytes) + " root " +
         std::to_string(call.root);
}

}  // namespace forescale::testing
