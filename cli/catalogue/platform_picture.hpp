// A platform as a picture: the tree of one node, and the fabric by levels of switches.
#pragma once

#include <string>

#include "topologies/platform.hpp"

namespace forescale {

// SVG. What there are too many of to draw is drawn in part and counted.
std::string platform_picture(const Platform& platform);

}  // namespace forescale
