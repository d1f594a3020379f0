// The description of a DNN before anything is computed from it: layers, how blobs connect them, and
// their hyper-parameters, in the words of Caffe's layer catalogue.
//
// As JSON (models/workload/zoo/*.json): {"name", "source", "input_shape": [channels, height,
// width], "published": {"parameters": N, "source": ...}, "layers": [{"name", "type", "bottom",
// "top", hyper-parameters...}]}. "bottom" is one name or a list; "top" is the layer's name unless
// given; "kernel_size", "stride", "pad" and "dilation" are one number or [height, width]. Text has
// the input shape [tokens]. Limits: one input.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json_input.hpp"

namespace forescale {

// Values of a blob for one image, without the batch: {channels, height, width} or {values}; of text
// for one sequence: {tokens, values}.
using Shape = std::vector<std::int64_t>;

struct Extent {
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool operator==(const Extent&) const = default;
};

struct LayerSpec {
  std::string name;
  std::string type;
  std::vector<std::string> bottoms;  // blobs it reads
  std::vector<std::string> tops;     // blobs it writes; a bottom's name means in place
  std::int64_t num_output = 0;       // Convolution: filters; InnerProduct: neurons
  Extent kernel = {0, 0};
  Extent stride = {1, 1};
  Extent pad = {0, 0};
  Extent dilation = {1, 1};
  std::int64_t group = 1;
  bool bias_term = true;
  bool scale_bias = false;  // BatchNorm: with a learned scale and shift
  std::string pool = "MAX";
  std::string round_mode = "CEIL";
  bool global_pooling = false;
  bool auxiliary = false;                     // of a head that only training has
  bool frozen = false;                        // its weights do not learn; no file says so
  bool adapter = false;                       // it learns beside a frozen one; no file says so
  std::map<std::string, std::int64_t> sizes;  // what the operator alone knows: "heads"
  std::set<std::string> flags;                // of its own, those that are true: "causal"
  std::string path;                           // where in the file, for errors: "/layers/3"
};

struct Architecture {
  std::string name;
  std::string source;
  std::string file;  // for errors
  Shape input_shape;
  std::optional<std::int64_t> published_parameters;       // all heads
  std::optional<std::int64_t> published_parameters_main;  // without auxiliary heads
  std::string published_source;
  std::vector<LayerSpec> layers;           // in execution order
  std::vector<std::string> warnings = {};  // of an importer: what is not as the file has it
};

// Layer types and their hyper-parameters are checked here, shapes by infer_network(). InputError.
Architecture read_architecture(const JsonInput& in);

// The JSON form; hyper-parameters at their default are left out. Reading it back gives the same.
nlohmann::json to_json(const Architecture& architecture);

std::string to_text(const Shape& shape);  // "3x227x227"

}  // namespace forescale
