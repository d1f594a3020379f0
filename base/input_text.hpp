// Whole files of text.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

namespace forescale {

// What is left of `in`.
std::string rest_of(std::istream& in);

// Of a file that a user names. InputError for a folder, what cannot be read, what is longer than
// `bytes_max`, and what has nothing but white space.
std::string read_input_text(const std::string& file, std::uintmax_t bytes_max);

}  // namespace forescale
