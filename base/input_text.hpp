// A whole file of text that a user names.
#pragma once

#include <cstdint>
#include <string>

namespace forescale {

// InputError for a folder, what cannot be read, what is longer than `bytes_max`, and what has
// nothing but white space.
std::string read_input_text(const std::string& file, std::uintmax_t bytes_max);

}  // namespace forescale
