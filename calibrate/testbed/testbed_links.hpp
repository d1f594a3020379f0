// A testbed's namespaces, cables, switches and shapers.
#pragma once

#include <string>

#include "calibrate/testbed/testbed.hpp"

namespace forescale {

// Makes them, with addresses 10.x.y.1, .2, .. of `network` ("10.x.y"). TestbedError when a command
// fails; what was made is left.
void make_testbed_network(const TestbedSpec& spec, const std::string& network);

}  // namespace forescale
