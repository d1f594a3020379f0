// Reads a Chakra execution trace, in either of its encodings, node by node.
#pragma once

#include <string>

#include "traces/formats/chakra/chakra_rank.hpp"

namespace forescale {

// Whether a file that begins with `head` is one.
bool is_chakra_protobuf(const std::string& head);
bool is_chakra_json(const std::string& head);

// InputError naming `file` and the byte or node for what is wrong with it, and --flops-per-s where
// that (0: not said) is needed.
ChakraRank read_chakra_protobuf(const std::string& file, double flops_per_s);
ChakraRank read_chakra_json(const std::string& file, double flops_per_s);

}  // namespace forescale
