#include "models/compute/framework.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/error.hpp"

namespace forescale {
namespace {

const std::vector<std::pair<Framework, std::string>>& names() {
  static const std::vector<std::pair<Framework, std::string>> table = {
      {Framework::kCaffe, "Caffe"},
      {Framework::kTensorFlow, "TensorFlow"},
      {Framework::kMxnet, "MXNet"},
      {Framework::kPyTorch, "PyTorch"},
      {Framework::kPyTorchTo210, "PyTorch-2.10"},
      {Framework::kMegatron, "Megatron-LM"},
      {Framework::kMegatronTo2, "Megatron-LM-2"},
      {Framework::kNanotron, "nanotron"},
      {Framework::kLlmFoundry, "llm-foundry"}};
  return table;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> all = [] {
    std::vector<Framework> list;
    for (const auto& [framework, name] : names()) list.push_back(framework);
    return list;
  }();
  return all;
}

std::string to_text(Framework framework) {
  for (const auto& [known, name] : names())
    if (known == framework) return name;
  return "";
}

Framework read_framework(const std::string& text, const std::string& option) {
  std::vector<std::string> known;
  for (const auto& [framework, name] : names()) {
    if (lower(text) == lower(name)) return framework;
    known.push_back(name);
  }
  throw InputError(
      {.source = option, .path = "", .value = text, .constraint = unknown_name(text, known)});
}

Framework default_framework(const Network& network) {
  const bool fused = std::any_of(network.layers.begin(), network.layers.end(), [](const Layer& l) {
    return l.type == "BatchNorm" && l.parameters > 0;
  });
  return fused ? Framework::kTensorFlow : Framework::kCaffe;
}

}  // namespace forescale
