// Process groups as PyTorch notes them in a node "## process_group:init ##": JSON in a list of
// texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forescale {

struct ChakraGroup {
  std::string name;
  std::vector<int> ranks;       // empty: all
  std::int64_t world_size = 0;  // of a group of all; 0: not said
};

// InputError naming `file` and `path` for what is not such a list. Nothing where the text is empty.
std::vector<ChakraGroup> parse_chakra_groups(const std::string& text, const std::string& file,
                                             const std::string& path);

}  // namespace forescale
