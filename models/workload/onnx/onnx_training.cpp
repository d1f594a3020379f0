#include "models/workload/onnx/onnx_training.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

class MemoryPlan {
 public:
  explicit MemoryPlan(const std::vector<LayerSpec>& layers) {
    for (const LayerSpec& layer : layers) {
      for (const std::string& bottom : layer.bottoms) ++readers_[bottom];
      for (const std::string& top : layer.tops) makers_[top] = layer;
    }
  }

  bool may_overwrite(const LayerSpec& layer, const std::string& blob) const {
    const LayerSpec& maker = makers_.at(blob);
    const Operator& rule = *find_operator(maker.type);
    if (readers_.at(blob) != 1 || rule.kind == OperatorKind::kData) return false;
    if (rule.kind == OperatorKind::kView) return may_overwrite(layer, maker.bottoms.front());
    return !rule.reads_outputs_again || (layer.type == "Dropout" && maker.type == "ReLU");
  }

 private:
  std::map<std::string, int> readers_;
  std::map<std::string, LayerSpec> makers_;
};

}  // namespace

std::vector<std::string> append_losses(std::vector<LayerSpec>& layers) {
  std::set<std::string> read;
  std::set<std::string> names;
  for (const LayerSpec& layer : layers) {
    read.insert(layer.bottoms.begin(), layer.bottoms.end());
    names.insert(layer.name);
  }
  const std::string label = layers.front().tops.back();
  std::vector<std::string> ends;
  const std::size_t count = layers.size();
  for (std::size_t i = 1; i < count; ++i) {
    if (read.contains(layers[i].tops.front()) || layers[i].type == "SoftmaxWithLoss") continue;
    if (layers[i].type == "Softmax") {
      layers[i].type = "SoftmaxWithLoss";
      layers[i].bottoms.push_back(label);
      ends.push_back(layers[i].bottoms.front());
      continue;
    }
    LayerSpec loss;
    loss.name = layers[i].name + "/loss";
    while (!names.insert(loss.name).second) loss.name += "'";
    loss.type = "SoftmaxWithLoss";
    loss.bottoms = {layers[i].tops.front(), label};
    loss.tops = {loss.name};
    loss.path = layers[i].path;
    ends.push_back(layers[i].name);
    layers.push_back(loss);
  }
  return ends;
}

void place_in_memory(std::vector<LayerSpec>& layers) {
  const MemoryPlan plan(layers);
  std::map<std::string, std::string> now;  // by blob, the name that its memory has
  const auto named = [&](const std::string& blob) {
    const auto found = now.find(blob);
    return found == now.end() ? blob : found->second;
  };
  for (LayerSpec& layer : layers) {
    std::size_t place = layer.bottoms.size();
    if (find_operator(layer.type)->may_be_in_place && layer.type != "Softmax")
      for (std::size_t i = 0; i < layer.bottoms.size() && place == layer.bottoms.size(); ++i)
        if (plan.may_overwrite(layer, layer.bottoms[i])) place = i;
    const bool in_place = place < layer.bottoms.size();
    if (in_place) std::swap(layer.bottoms[0], layer.bottoms[place]);
    for (std::string& bottom : layer.bottoms) bottom = named(bottom);
    if (!in_place) continue;
    now[layer.tops.front()] = layer.bottoms.front();
    layer.tops = {layer.bottoms.front()};
  }
}

}  // namespace forescale
