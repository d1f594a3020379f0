// What an importer has to say of a network, where people see it.
#pragma once

#include <string>

#include "models/workload/network.hpp"

namespace forescale {

// A line a warning on stderr.
void say_warnings(const Network& network);
// The same of a network by name or path, as --model has it. Only files are read for it; what is
// wrong with them is left to whoever reads them next.
void say_model_warnings(const std::string& model, const std::string& input_shape,
                        std::int64_t tokens);

}  // namespace forescale
