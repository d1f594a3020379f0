#include "models/workload/operator.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr double kCountMax = 9007199254740992.0;  // 2^53: counts stay exact as double

}  // namespace

const Operator* find_operator(const std::string& type) {
  const auto& operators = Registry<Operator>::all();
  const auto found = operators.find(type);
  return found == operators.end() ? nullptr : &found->second;
}

std::vector<std::string> layer_types() { return Registry<Operator>::names(); }

bool default_bias_term(const std::string& type) { return find_operator(type)->bias_unless_said; }

std::int64_t value_count(const Shape& shape, const LayerSpec& layer, const std::string& file) {
  double count = 1;
  for (const std::int64_t side : shape) count *= static_cast<double>(side);
  if (count > kCountMax)
    layer_error(layer, file,
                {.key = "", .value = to_text(shape), .constraint = "must be < 2^53 values"});
  return static_cast<std::int64_t>(count);
}

void layer_error(const LayerSpec& layer, const std::string& file, const LayerProblem& problem) {
  throw InputError(
      {.source = file,
       .path = problem.key.empty() ? layer.path : layer.path + "/" + problem.key,
       .value = problem.value,
       .constraint = fmt::format("{} (layer \"{}\")", problem.constraint, layer.name)});
}

void require_image(const LayerSpec& layer, const std::string& file, const Shape& input) {
  if (input.size() == 3) return;
  layer_error(layer, file,
              {.key = "bottom",
               .value = to_text(input),
               .constraint = "must have the shape channels x height x width"});
}

void require_sequence(const LayerSpec& layer, const std::string& file, const Shape& input) {
  if (input.size() == 2) return;
  layer_error(layer, file,
              {.key = "bottom",
               .value = to_text(input),
               .constraint = "must have the shape tokens x values"});
}

void require_given(const LayerSpec& layer, const std::string& file, const std::string& key,
                   std::int64_t value) {
  if (value < 1) layer_error(layer, file, {.key = key, .value = "", .constraint = "is required"});
}

std::int64_t size_of(const LayerSpec& layer, const std::string& file, const std::string& key) {
  const auto found = layer.sizes.find(key);
  const std::int64_t size = found == layer.sizes.end() ? 0 : found->second;
  require_given(layer, file, key, size);
  return size;
}

LayerEffect linear_effect(const LayerSpec& layer, const std::string& file, std::int64_t inputs,
                          std::int64_t vectors) {
  require_given(layer, file, "num_output", layer.num_output);
  LayerEffect effect;
  effect.outputs = {{layer.num_output}};
  effect.parameter_tensors = {value_count({layer.num_output, inputs}, layer, file)};
  if (layer.bias_term) effect.parameter_tensors.push_back(layer.num_output);
  effect.work = LinearShape{.outputs = layer.num_output, .inputs = inputs, .vectors = vectors};
  effect.forward_flops = forward_flops_of(effect.work);
  return effect;
}

}  // namespace forescale
