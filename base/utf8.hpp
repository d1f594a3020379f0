// Texts that people write, and JSON, which holds none but UTF-8.
#pragma once

#include <string>

namespace forescale {

bool is_utf8(const std::string& text);
// With U+FFFD for what is not.
std::string as_utf8(const std::string& text);

}  // namespace forescale
