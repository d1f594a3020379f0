#include "cli/network_warnings.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.hpp"
#include "sim/ask/inputs.hpp"

namespace forescale {

void say_warnings(const Network& network) {
  for (const std::string& warning : network.architecture.warnings)
    fmt::print(stderr, "forescale: {}: warning: {}\n", network.name, warning);
}

void say_model_warnings(const std::string& model, const std::string& input_shape,
                        std::int64_t tokens) {
  if (!model.ends_with(".onnx") && !model.ends_with(".json")) return;
  try {
    say_warnings(load_network(
        model, "--model", tokens > 0 ? std::optional(Shape{tokens}) : parse_shape(input_shape)));
  } catch (const InputError&) {  // said by the command
  }
}

}  // namespace forescale
