// A DNN as training costs see it: layers in execution order, each with its parameters, FLOP, bytes
// and shape for one image, inferred from an Architecture.
//
// backward FLOP = forward FLOP * (weight gradient: 1, unless it is frozen) + (input gradient: 1,
// where something below the layer learns); attention has its own factor. A multiply-add is 2 FLOP;
// everything is FP32, 4 bytes a value. Limits: biases, activations and normalisation count no FLOP
// (they are bound by memory).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "models/workload/architecture.hpp"
#include "models/workload/embedding_tables.hpp"
#include "models/workload/exchange.hpp"
#include "models/workload/matrix_work.hpp"

namespace forescale {

inline constexpr std::int64_t kBytesPerValue = 4;  // FP32

struct Layer {
  std::string name;
  std::string type;
  std::int64_t parameters = 0;                  // learnable values: weights and bias
  std::vector<std::int64_t> parameter_tensors;  // the same by tensor: weights, then bias
  std::int64_t frozen_parameters = 0;           // weights and bias that do not learn
  double forward_flops = 0;                     // for one image
  double backward_flops = 0;                    // for one image
  bool backward_runs = false;                   // false where nothing in it or below it learns
  Bytes activation_per_image;                   // outputs; 0 in place
  std::int64_t kept_flags = 0;                  // an image: a byte each, but 4 in Caffe
  Bytes kept_per_image;     // kept for the backward pass beside the outputs (masks, scales)
  Bytes traffic_per_image;  // inputs read + outputs written by the forward pass; 0: no GPU work
  Shape output_shape;       // of the first top
  MatrixWork work;          // for one image
  std::optional<Exchange> exchange;
  EmbeddingTables tables = {};
  bool reads_all_parameters = true;
  bool auxiliary = false;  // of a head that only training has
  bool in_place = false;
  bool frozen = false;   // its weights do not learn, its own or those of another layer
  bool adapter = false;  // it learns beside a frozen one

  bool is_product() const { return std::holds_alternative<LinearShape>(work); }
  // One of a transformer's own: not that of the words' scores, no adapter.
  bool is_product_within() const { return is_product() && !adapter && name != "head"; }
  bool is_frozen_product() const { return is_product() && frozen; }
  Bytes parameter_bytes() const { return {parameters * kBytesPerValue}; }
  // Of what its passes read, whether it learns or not.
  Bytes weight_bytes() const { return {(parameters + frozen_parameters) * kBytesPerValue}; }
  // Where an image is one vector; else null.
  const LinearShape* fully_connected() const;
};

// kMain leaves out auxiliary heads, which exist only in training.
enum class Heads { kAll, kMain };

struct Network {
  std::string name;
  std::string source;
  std::vector<Layer> layers;  // in execution order
  Shape input_shape;
  Architecture architecture;  // what it was inferred from, published totals included

  bool is_text() const { return input_shape.size() == 1; }
  // Some layer works on tokens x values: a transformer.
  bool has_sequences() const;
  const char* samples() const;

  EmbeddingTables tables() const;  // of all layers

  std::int64_t parameters(Heads heads = Heads::kAll) const;
  std::int64_t frozen_parameters() const;
  Bytes parameter_bytes(Heads heads = Heads::kAll) const;
  double forward_flops(Heads heads = Heads::kAll) const;   // for one image
  double backward_flops(Heads heads = Heads::kAll) const;  // for one image
  Bytes activation_per_image(Heads heads = Heads::kAll) const;
};

// InputError naming file, layer and constraint for an unknown bottom, shapes that do not fit, or an
// output that nothing uses (the mark of a file that was cut off).
Network infer_network(const Architecture& architecture);

// Of the zoo, and of the transformers.
std::vector<std::string> network_names();
// The file of a name of the catalogue, or a path, as JSON; of a transformer with other numbers
// where they follow: "deepseek-v3:num_hidden_layers=4". InputError naming `option` and the nearest
// name.
JsonInput model_input(const std::string& text, const std::string& option);

// A name of the catalogue (models/workload/zoo, models/workload/transformers), a .json file (the
// zoo's form, or a Hugging Face config.json), a Caffe .prototxt or an .onnx. `option` names where
// it was said; `input_shape` overrides the file's {channels, height, width} or {tokens}.
Network load_network(const std::string& name_or_path, const std::string& option,
                     const std::optional<Shape>& input_shape = std::nullopt);
Network read_network(const JsonInput& in, const std::optional<Shape>& input_shape = std::nullopt);

// The zoo's form, which read_network() takes back, plus "inferred": totals and costs by layer.
nlohmann::json to_json(const Network& network);

}  // namespace forescale
