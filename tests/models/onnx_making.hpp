// ONNX models by hand, for tests: a message to which nodes, initializers and inputs are added.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "models/workload/onnx/import_onnx.hpp"
#include "models/workload/onnx/onnx.pb.h"

namespace forescale::testing {

using Dims = std::vector<std::int64_t>;

class MadeOnnx {
 public:
  MadeOnnx() {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(13);
  }

  // Floating-point where `type` is 1, integers where it is 7; a side of 0 is open.
  MadeOnnx& input(const std::string& name, const Dims& dims, int type = 1) {
    onnx::ValueInfoProto& in = *graph().add_input();
    in.set_name(name);
    in.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    auto& shape = *in.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const std::int64_t side : dims) {
      auto& dim = *shape.add_dim();
      if (side != 0)
        dim.set_dim_value(side);
      else
        dim.set_dim_param("open");
    }
    return *this;
  }

  MadeOnnx& weights(const std::string& name, const Dims& dims) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(1);
    for (const std::int64_t side : dims) tensor.add_dims(side);
    return *this;
  }

  MadeOnnx& integers(const std::string& name, const Dims& values) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(7);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor.add_int64_data(value);
    return *this;
  }

  // Its first output is named after `output`; its node name is the same with "n_" before.
  onnx::NodeProto& node(const std::string& type, const std::vector<std::string>& inputs,
                        const std::string& output) {
    onnx::NodeProto& made = *graph().add_node();
    made.set_op_type(type);
    made.set_name("n_" + output);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(output);
    return made;
  }

  MadeOnnx& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }

  onnx::GraphProto& graph() { return *model.mutable_graph(); }
  std::string text() const { return model.SerializeAsString(); }

  Network network(const std::optional<Shape>& input_shape = std::nullopt) const {
    std::istringstream in(text());
    return import_onnx(in, "made.onnx", input_shape);
  }

  onnx::ModelProto model;
};

inline void set_integers(onnx::NodeProto& node, const std::string& name, const Dims& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

inline void set_integer(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_i(value);
}

inline void set_text(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_s(value);
}

}  // namespace forescale::testing
