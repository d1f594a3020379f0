#include "models/workload/onnx/onnx_patterns.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace forescale {
namespace {

constexpr std::size_t kNodesMax = 24;
constexpr std::size_t kLookahead = 64;  // nodes behind the first

// What is one kernel by itself, and the layer of the same cost.
const std::map<std::string, std::string> kActivations = {
    {"Celu", "ReLU"},        {"Clip", "ReLU"},
    {"Elu", "ReLU"},         {"Erf", "GELU"},
    {"Gelu", "GELU"},        {"HardSigmoid", "Sigmoid"},
    {"HardSwish", "SiLU"},   {"LeakyRelu", "ReLU"},
    {"Mish", "GELU"},        {"Relu", "ReLU"},
    {"Selu", "ReLU"},        {"Sigmoid", "Sigmoid"},
    {"Softplus", "Sigmoid"}, {"Softsign", "Sigmoid"},
    {"Tanh", "TanH"},        {"ThresholdedRelu", "ReLU"},
};
const std::set<std::string> kArithmetic = {"Abs",  "Add", "Cos", "Div",   "Exp",       "Log",
                                           "Max",  "Min", "Mul", "Neg",   "Pow",       "Sin",
                                           "Sqrt", "Sub", "Sum", "Floor", "Reciprocal"};
// Of which nothing has to be said: clipped, as in ReLU6, is as good as at 0 alone.
const std::set<std::string> kAsNamed = {"Clip", "Gelu", "Relu", "Sigmoid", "Tanh"};

struct RunSoFar {
  std::vector<std::size_t> nodes;
  std::map<std::string, std::size_t> made;  // by which of the nodes
};

// All that could belong to it.
RunSoFar longest_run(const OnnxGraph& graph, std::size_t first, const std::string& source,
                     const IsScalar& is_scalar) {
  RunSoFar run;
  const std::size_t end = std::min(graph.nodes().size(), first + kLookahead);
  for (std::size_t place = first; place < end && run.nodes.size() < kNodesMax; ++place) {
    const OnnxNode& node = graph.nodes()[place];
    if ((place != first && !is_pointwise(node.type)) || node.outputs.empty()) continue;
    bool reads_run = false;
    bool reads_else = false;
    for (const std::string& input : node.inputs) {
      if (input.empty()) continue;
      if (input == source || run.made.contains(input))
        reads_run = true;
      else if (!is_scalar(input))
        reads_else = true;
    }
    if (place != first && (reads_else || !reads_run)) continue;
    run.made[node.outputs.front()] = run.nodes.size();
    run.nodes.push_back(place);
  }
  return run;
}

// Whether nodes 0 .. last of the run are read elsewhere, and by the rest of it, at the last alone.
bool is_closed(const OnnxGraph& graph, const RunSoFar& run, std::size_t last,
               const std::string& source) {
  const auto in_part = [&](std::size_t place) {
    const auto found = std::find(run.nodes.begin(), run.nodes.end(), place);
    return found != run.nodes.end() && static_cast<std::size_t>(found - run.nodes.begin()) <= last;
  };
  for (std::size_t i = 0; i < last; ++i) {
    const std::string& made = graph.nodes()[run.nodes[i]].outputs.front();
    if (graph.is_output(made)) return false;
    for (const std::size_t reader : graph.readers(made))
      if (!in_part(reader)) return false;
  }
  for (std::size_t i = last + 1; i < run.nodes.size(); ++i) {
    const std::vector<std::string>& inputs = graph.nodes()[run.nodes[i]].inputs;
    if (std::find(inputs.begin(), inputs.end(), source) != inputs.end()) return false;
  }
  return true;
}

// Whether it multiplies a tensor of the run, or its source, with another.
bool gates(const OnnxGraph& graph, const OnnxPattern& pattern, const IsScalar& is_scalar) {
  return std::any_of(pattern.nodes.begin(), pattern.nodes.end(), [&](std::size_t place) {
    const OnnxNode& node = graph.nodes()[place];
    return node.type == "Mul" && node.inputs.size() == 2 && !is_scalar(node.inputs[0]) &&
           !is_scalar(node.inputs[1]) && node.inputs[0] != node.inputs[1];
  });
}

void name_layer(const OnnxGraph& graph, OnnxPattern& pattern, const IsScalar& is_scalar) {
  std::string kernel;
  std::string last;
  for (const std::size_t place : pattern.nodes) {
    const std::string& type = graph.nodes()[place].type;
    if (kActivations.contains(type) && (kernel.empty() || type != "Clip")) kernel = type;
    last = type;
  }
  if (kernel.empty()) {
    pattern.layer = pattern.nodes.size() == 1 &&
                            (last == "Mul" || last == "Div" || last == "Add" || last == "Sub")
                        ? "AttentionScale"
                        : "GELU";
    if (pattern.layer == "GELU") pattern.taken_from = last;
    return;
  }
  pattern.layer = kActivations.at(kernel);
  if (gates(graph, pattern, is_scalar)) {
    pattern.layer = kernel == "Erf" || kernel == "Tanh" ? "GELU" : "SiLU";
    if (kernel != "Erf" && kernel != "Tanh" && kernel != "Sigmoid")
      pattern.taken_from = "x * " + kernel;
    return;
  }
  if (!kAsNamed.contains(kernel) && kernel != pattern.layer) pattern.taken_from = kernel;
}

const OnnxNode* sole_reader(const OnnxGraph& graph, const std::string& tensor,
                            const std::string& type) {
  const std::vector<std::size_t>& readers = graph.readers(tensor);
  if (readers.size() != 1 || graph.is_output(tensor)) return nullptr;
  const OnnxNode& node = graph.nodes()[readers.front()];
  return node.type == type && !node.outputs.empty() ? &node : nullptr;
}

std::size_t place_in(const OnnxGraph& graph, const OnnxNode& node) {
  return static_cast<std::size_t>(&node - graph.nodes().data());
}

// Takes a Mul or an Add of a learned tensor behind the pattern into it.
void take_learned(const OnnxGraph& graph, OnnxPattern& pattern, const std::string& type,
                  std::string& learned) {
  const OnnxNode* node = sole_reader(graph, pattern.output, type);
  if (node == nullptr || node->inputs.size() != 2) return;
  const std::string& other = node->inputs[node->inputs[0] == pattern.output ? 1 : 0];
  const auto found = graph.initializers().find(other);
  if (found == graph.initializers().end() || found->second->dims_size() != 1) return;
  learned = other;
  pattern.nodes.push_back(place_in(graph, *node));
  pattern.output = node->outputs.front();
}

}  // namespace

bool is_pointwise(const std::string& type) {
  return kActivations.contains(type) || kArithmetic.contains(type);
}

OnnxPattern pointwise_pattern(const OnnxGraph& graph, std::size_t first, const std::string& source,
                              const IsScalar& is_scalar) {
  const RunSoFar run = longest_run(graph, first, source, is_scalar);
  std::size_t last = 0;
  while (last + 1 < run.nodes.size() && !is_closed(graph, run, last, source)) ++last;
  if (!is_closed(graph, run, last, source)) last = 0;
  OnnxPattern pattern;
  const auto take = [&](std::size_t place) {
    pattern.nodes.push_back(place);
    pattern.output = graph.nodes()[place].outputs.front();
  };
  for (std::size_t i = 0; i <= last; ++i) take(run.nodes[i]);
  // A factor behind a run of several belongs to it: GELU's half.
  for (std::size_t i = last + 1; last > 0 && i < run.nodes.size(); ++i) {
    const OnnxNode& node = graph.nodes()[run.nodes[i]];
    const bool scales = node.type == "Mul" || node.type == "Div";
    if (!scales || sole_reader(graph, pattern.output, node.type) != &node) break;
    take(run.nodes[i]);
  }
  name_layer(graph, pattern, is_scalar);
  return pattern;
}

std::optional<OnnxPattern> layer_norm_pattern(const OnnxGraph& graph, std::size_t mean,
                                              const IsScalar& is_scalar) {
  const OnnxNode& average = graph.nodes()[mean];
  if (average.inputs.empty() || average.outputs.empty()) return std::nullopt;
  const std::string& x = average.inputs[0];
  OnnxPattern pattern;
  pattern.layer = "LayerNorm";
  pattern.nodes = {mean};
  std::set<std::string> centred;
  for (const std::size_t place : graph.readers(average.outputs[0])) {
    const OnnxNode& node = graph.nodes()[place];
    if (node.type != "Sub" || node.inputs != std::vector<std::string>{x, average.outputs[0]} ||
        node.outputs.empty())
      return std::nullopt;
    centred.insert(node.outputs[0]);
    pattern.nodes.push_back(place);
  }
  const OnnxNode* divided = nullptr;
  const OnnxNode* square = nullptr;
  for (const std::string& each : centred)
    for (const std::size_t place : graph.readers(each)) {
      const OnnxNode& node = graph.nodes()[place];
      if (node.outputs.empty()) return std::nullopt;
      if (node.type == "Div" && divided == nullptr)
        divided = &node;
      else if ((node.type == "Pow" || node.type == "Mul") && square == nullptr)
        square = &node;
      else if (&node != square)
        return std::nullopt;
    }
  if (divided == nullptr || square == nullptr) return std::nullopt;
  const OnnxNode* variance = sole_reader(graph, square->outputs[0], "ReduceMean");
  if (variance == nullptr) return std::nullopt;
  const OnnxNode* shifted = sole_reader(graph, variance->outputs[0], "Add");
  if (shifted == nullptr || std::none_of(shifted->inputs.begin(), shifted->inputs.end(), is_scalar))
    return std::nullopt;
  const OnnxNode* root = sole_reader(graph, shifted->outputs[0], "Sqrt");
  if (root == nullptr || sole_reader(graph, root->outputs[0], "Div") != divided)
    return std::nullopt;
  for (const OnnxNode* node : {square, variance, shifted, root, divided})
    pattern.nodes.push_back(place_in(graph, *node));
  pattern.output = divided->outputs[0];
  take_learned(graph, pattern, "Mul", pattern.scale);
  if (!pattern.scale.empty()) take_learned(graph, pattern, "Add", pattern.shift);
  return pattern;
}

}  // namespace forescale
