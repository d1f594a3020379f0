// A fuzz target for networks in ONNX: fuzz_onnx [LIBFUZZER'S ARGUMENTS].
//
// A file becomes a network that is the same when it is written and read back, or is refused by
// InputError. All else is a finding.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "models/workload/onnx/import_onnx.hpp"

namespace forescale {
namespace {

void import(const std::string& text, const std::optional<Shape>& input_shape) {
  std::istringstream in(text);
  Network network;
  try {
    network = import_onnx(in, "fuzzed.onnx", input_shape);
  } catch (const InputError&) {
    return;
  }
  const std::string written = to_json(network).dump();
  const Network again = read_network(JsonInput::from_text(written, "written.json"));
  FORESCALE_CHECK(to_json(again).dump() == written, "a network is read as another one");
}

}  // namespace
}  // namespace forescale

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  forescale::import(text, std::nullopt);
  forescale::import(text, forescale::Shape{3, 32, 32});
  forescale::import(text, forescale::Shape{16});
  return 0;
}
