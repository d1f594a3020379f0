// A fuzz target for networks in ONNX: fuzz_onnx [LIBFUZZER'S ARGUMENTS].
//
// A file becomes a network that is the same when it is written and read back, or is refused by
// InputError. All else is a finding. Most changes are to nodes, sides and names, as bytes that
// change at random hardly leave a message behind.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "base/error.hpp"
#include "models/workload/onnx/import_onnx.hpp"
#include "models/workload/onnx/onnx.pb.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

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

constexpr std::int64_t kNumbers[] = {0,
                                     1,
                                     -1,
                                     2,
                                     3,
                                     4,
                                     7,
                                     64,
                                     100'001,
                                     std::int64_t{1} << 32,
                                     std::int64_t{1} << 53,
                                     std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min()};
constexpr const char* kTypes[] = {"Add",
                                  "Concat",
                                  "Conv",
                                  "Div",
                                  "Dropout",
                                  "Erf",
                                  "Expand",
                                  "Flatten",
                                  "Gather",
                                  "Gemm",
                                  "Identity",
                                  "MatMul",
                                  "MaxPool",
                                  "Mean",
                                  "Mul",
                                  "Pad",
                                  "Pow",
                                  "ReduceMean",
                                  "Relu",
                                  "Reshape",
                                  "Shape",
                                  "Sigmoid",
                                  "Slice",
                                  "Softmax",
                                  "Split",
                                  "Squeeze",
                                  "Transpose",
                                  "Unsqueeze",
                                  "Where",
                                  "Range",
                                  "Tile",
                                  "Cast",
                                  "LayerNormalization",
                                  "BatchNormalization",
                                  "GlobalAveragePool",
                                  "ConstantOfShape"};

class Changes {
 public:
  explicit Changes(unsigned seed) : random_(seed) {}

  void apply(onnx::GraphProto& graph) {
    if (graph.node_size() == 0 || graph.initializer_size() == 0) return;
    onnx::NodeProto& node = *graph.mutable_node(below(graph.node_size()));
    onnx::TensorProto& tensor = *graph.mutable_initializer(below(graph.initializer_size()));
    switch (below(8)) {
      case 0:
        node.set_op_type(kTypes[below(static_cast<int>(std::size(kTypes)))]);
        break;
      case 1:
        rewire(graph, node);
        break;
      case 2:
        attribute(node);
        break;
      case 3:
        if (tensor.dims_size() > 0) tensor.set_dims(below(tensor.dims_size()), number());
        break;
      case 4:
        tensor.add_dims(number());
        break;
      case 5:
        tensor.set_data_type(below(2) == 0 ? 1 : 7);
        break;
      case 6:
        if (node.input_size() > 0) node.mutable_input()->RemoveLast();
        break;
      default:
        values(tensor);
    }
  }

 private:
  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }
  std::int64_t number() { return kNumbers[below(static_cast<int>(std::size(kNumbers)))]; }

  // Reads what another node makes, or an initializer.
  void rewire(const onnx::GraphProto& graph, onnx::NodeProto& node) {
    const onnx::NodeProto& other = graph.node(below(graph.node_size()));
    const bool of_node = below(2) == 0 && other.output_size() > 0;
    const std::string name =
        of_node ? other.output(0) : graph.initializer(below(graph.initializer_size())).name();
    if (node.input_size() == 0 || below(4) == 0)
      node.add_input(name);
    else
      node.set_input(below(node.input_size()), name);
  }

  void attribute(onnx::NodeProto& node) {
    if (node.attribute_size() == 0) return;
    onnx::AttributeProto& one = *node.mutable_attribute(below(node.attribute_size()));
    if (one.has_i()) one.set_i(number());
    if (one.ints_size() > 0) one.set_ints(below(one.ints_size()), number());
    if (below(8) == 0) one.add_ints(number());
    if (below(8) == 0) one.set_name("axes");
  }

  void values(onnx::TensorProto& tensor) {
    tensor.clear_raw_data();
    tensor.set_data_type(7);
    tensor.clear_dims();
    tensor.clear_int64_data();
    const int count = below(5);
    tensor.add_dims(count);
    for (int i = 0; i < count; ++i) tensor.add_int64_data(number());
  }

  std::mt19937 random_;
};

}  // namespace
}  // namespace forescale

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed) {
  forescale::onnx::ModelProto model;
  if (seed % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, size_max);
  forescale::Changes changes(seed);
  for (unsigned i = 0; i <= seed % 3; ++i) changes.apply(*model.mutable_graph());
  const std::string text = model.SerializeAsString();
  if (text.size() > size_max) return size;
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  forescale::import(text, std::nullopt);
  forescale::import(text, forescale::Shape{3, 32, 32});
  forescale::import(text, forescale::Shape{16});
  return 0;
}
