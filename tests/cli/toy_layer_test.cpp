// A layer type that registers itself here: networks may have it, its parameters and FLOP count, its
// gradients travel, and no other file knows of it.
#include <gtest/gtest.h>

#include "base/json_text.hpp"
#include "models/workload/operator.hpp"
#include "tests/cli/in_process.hpp"

namespace forescale {
namespace {

using testing::answer_here;
using testing::Workshop;

// A weight a value of the input, times num_output: 2 FLOP each.
LayerEffect toy(const LayerSpec& layer, const std::string& file, const std::vector<Shape>& inputs) {
  LayerEffect effect{.outputs = {inputs[0]}};
  effect.parameter_tensors = {value_count(inputs[0], layer, file) * layer.num_output};
  effect.forward_flops = 2.0 * static_cast<double>(effect.parameter_tensors[0]);
  return effect;
}

const bool kToyLayerRegistered =
    Registry<Operator>::add({.name = "Toy", .options = {"num_output"}, .apply = toy});

constexpr const char* kNetwork = R"({
  "name": "toy-net", "source": "this test", "input_shape": [3, 8, 8],
  "layers": [
    {"name": "data", "type": "Data", "top": ["data", "label"]},
    {"name": "toy", "type": "Toy", "bottom": "data", "num_output": 5},
    {"name": "ip", "type": "InnerProduct", "bottom": "toy", "num_output": 10},
    {"name": "loss", "type": "SoftmaxWithLoss", "bottom": ["ip", "label"]}]})";

TEST(ToyLayer, CountsInANetworkAndInAPrediction) {
  EXPECT_TRUE(kToyLayerRegistered);
  const Workshop workshop;
  const std::string file = workshop.file("net.json", kNetwork);
  const auto shown = parse_json(answer_here("model show " + file + " --json"));
  const auto& layer = shown.at("inferred").at("layers").at(1);
  EXPECT_EQ(layer.at("type"), "Toy");
  EXPECT_EQ(layer.at("parameters"), 3 * 8 * 8 * 5);
  EXPECT_EQ(layer.at("forward_flops_per_image"), 2 * 3 * 8 * 8 * 5);
  const std::string predict =
      "predict --platform kesch --gpus 4 --batch 64 --no-range --json "
      "--system s-caffe-b-hr --model " +
      file;
  const auto point = parse_json(answer_here(predict)).at("points").at(0);
  EXPECT_GT(point.at("iteration_s").get<double>(), 0);
  EXPECT_EQ(testing::run_here("model show " + workshop.file("bad.json", R"({"name": "n",
    "source": "this test", "input_shape": [3, 8, 8], "layers": [
    {"name": "toy", "type": "Toys", "bottom": "data"}]})"))
                .exit_code,
            2);
}

}  // namespace
}  // namespace forescale
