// What each type of layer does to shapes, and what it costs for one image (of text: one sequence).
// A type is an entry of Registry<Operator>, a file in operators/.
//
// A multiply-add is 2 FLOP. Operators without a matrix product count 0 FLOP: memory bounds them.
// Source: the shape code of BVLC Caffe, as facts; what is not Caffe's says its own.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/registry.hpp"
#include "models/workload/architecture.hpp"
#include "models/workload/embedding_tables.hpp"
#include "models/workload/exchange.hpp"
#include "models/workload/matrix_work.hpp"

namespace forescale {

enum class OperatorKind {
  kData,     // brings the images and labels; no GPU work
  kCompute,  // ordinary
  kView,     // renames its input: no GPU work, no memory
  kOutput,   // its result may go unused: losses and probabilities
  kIgnored,  // not part of training: Accuracy, Silence
};

// What one layer gives for one image.
struct LayerEffect {
  std::vector<Shape> outputs;                        // one a top
  std::vector<std::int64_t> parameter_tensors = {};  // learnable values: weights, then bias
  bool reads_all_parameters = true;                  // not where it looks some up
  bool wants_gradient = false;  // whatever is below it here: another stage waits for it
  double forward_flops = 0;
  // Of all gradients, over those of the forward pass; negative: one for the weights where there are
  // any, one for what lies below where something there learns.
  double backward_over_forward = -1;
  // FP32 or int32 values kept for the backward pass beside the output.
  std::int64_t kept_values = 0;
  std::int64_t kept_flags = 0;  // yes or no: a byte each, but 4 in Caffe
  MatrixWork work = {};
  std::optional<Exchange> exchange = {};
  EmbeddingTables tables = {};
};

using Inputs = std::vector<Shape>;

// Whether each value of the result depends on its own place in the inputs alone, so that the kernel
// of the layer before may do it too.
enum class Pointwise { kNo, kActivation, kOther };

struct Operator {
  static constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

  std::string name;  // as files say it: "Convolution"
  OperatorKind kind = OperatorKind::kCompute;
  std::size_t bottoms_min = 1;
  std::size_t bottoms_max = 1;
  std::size_t tops_max = 1;
  bool may_be_in_place = false;
  bool bias_unless_said = true;
  // Bytes of the backward pass over those of the forward pass; 0: as
  // models/compute/assumptions.json.
  double backward_traffic = 0;
  // What its backward pass reads beside gradients, parameters and what it keeps of its own.
  bool reads_inputs_again = false;
  bool reads_outputs_again = false;
  Pointwise pointwise = Pointwise::kNo;
  bool is_gate = false;                   // half of its input, activated, times the other half
  std::vector<std::string> options = {};  // hyper-parameters of LayerSpec that it knows
  std::vector<std::string> sizes = {};    // others of its own: integers from 1
  std::vector<std::string> flags = {};    // and what is true or false
  LayerEffect (*apply)(const LayerSpec& layer, const std::string& file,
                       const Inputs& inputs) = nullptr;
};

// Null when there is no such type.
const Operator* find_operator(const std::string& type);
std::vector<std::string> layer_types();
bool default_bias_term(const std::string& type);  // of a known type

// Product of the sides; InputError when it leaves 2^53.
std::int64_t value_count(const Shape& shape, const LayerSpec& layer, const std::string& file);

struct LayerProblem {
  std::string key;  // which hyper-parameter, may be empty
  std::string value;
  std::string constraint;
};
[[noreturn]] void layer_error(const LayerSpec& layer, const std::string& file,
                              const LayerProblem& problem);

// InputError unless it is channels x height x width, tokens x values, or was given.
void require_image(const LayerSpec& layer, const std::string& file, const Shape& input);
void require_sequence(const LayerSpec& layer, const std::string& file, const Shape& input);
void require_given(const LayerSpec& layer, const std::string& file, const std::string& key,
                   std::int64_t value);
// One of the operator's own sizes, required.
std::int64_t size_of(const LayerSpec& layer, const std::string& file, const std::string& key);

// A fully connected layer of num_output: parameters, FLOP and work; its output is one vector.
LayerEffect linear_effect(const LayerSpec& layer, const std::string& file, std::int64_t inputs,
                          std::int64_t vectors);

}  // namespace forescale
