#pragma once

#include <string>

namespace forescale {

// Text between SVG's tags and in its attributes.
std::string escaped_for_svg(const std::string& text);

}  // namespace forescale
