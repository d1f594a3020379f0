// ONNX files as PyTorch exports them (tests/models/data/onnx/make.py) against the zoo.
#include "models/workload/onnx/import_onnx.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using testing::refusal;

const std::string kExports = std::string(FORESCALE_SOURCE_DIR) + "/tests/models/data/onnx/";

Network exported(const std::string& name, const std::optional<Shape>& shape = std::nullopt) {
  return load_network(kExports + name, "--model", shape);
}

bool warns_of(const Network& network, const std::string& part) {
  for (const std::string& warning : network.architecture.warnings)
    if (warning.find(part) != std::string::npos) return true;
  return false;
}

// But dropout, which some descriptions have and some not.
std::vector<std::string> types_of(const Network& network) {
  std::vector<std::string> types;
  for (const Layer& layer : network.layers)
    if (layer.type != "Dropout") types.push_back(layer.type);
  return types;
}

// In the order of the types' names, as frameworks run branches in another order.
void expect_as_zoo(const Network& imported, const std::string& name) {
  const Network zoo = load_network(name, "--model");
  EXPECT_EQ(imported.parameters(), zoo.parameters());
  EXPECT_EQ(imported.forward_flops(), zoo.forward_flops());
  EXPECT_EQ(imported.backward_flops(), zoo.backward_flops());
  EXPECT_EQ(imported.activation_per_image(), zoo.activation_per_image());
  EXPECT_EQ(imported.input_shape, zoo.input_shape);
  const auto sorted = [](std::vector<std::string> types) {
    std::sort(types.begin(), types.end());
    return types;
  };
  EXPECT_EQ(sorted(types_of(imported)), sorted(types_of(zoo)));
}

TEST(ImportOnnx, ResNet50InTrainingIsTheZoos) {
  const Network network = exported("resnet-50.onnx");
  expect_as_zoo(network, "resnet-50-v1.5");
  EXPECT_EQ(network.name, "resnet-50");
  EXPECT_FALSE(warns_of(network, "folded"));
  EXPECT_TRUE(warns_of(network, "no loss"));
  EXPECT_EQ(network.layers.at(1).name, "stem.0.0");  // by its weights
}

// 62 initialisers; folded 20 convolutions, 4 different biases (all 0 at first) and 2 of the last.
TEST(ImportOnnx, AFoldedBatchNormIsWarnedOf) {
  const Network whole = exported("resnet-18-training.onnx");
  const Network folded = exported("resnet-18-folded.onnx");
  const std::int64_t norms = 4 * (64 + 128 + 256 + 512) * 2 + 64 * 2 + (128 + 256 + 512) * 2;
  EXPECT_EQ(whole.parameters(), 11'181'642);
  EXPECT_EQ(folded.parameters(), whole.parameters() - norms + 64 + 128 + 256 + 512);
  EXPECT_EQ(folded.parameters(), 11'173'002);
  EXPECT_EQ(whole.forward_flops(), folded.forward_flops());
  EXPECT_TRUE(warns_of(folded, "20 of 20 convolutions have a bias"));
  EXPECT_FALSE(warns_of(whole, "have a bias"));
  EXPECT_TRUE(warns_of(folded, "4 tensors are parameters of several layers"));
  EXPECT_FALSE(warns_of(whole, "several layers"));
}

TEST(ImportOnnx, MobileNetV2IsTheZoos) {
  expect_as_zoo(exported("mobilenet-v2.onnx"), "mobilenet-v2");
}

TEST(ImportOnnx, Vgg16IsTheZoosAndMayHaveNoBatchNorm) {
  const Network network = exported("vgg-16.onnx");
  expect_as_zoo(network, "vgg-16");
  EXPECT_TRUE(warns_of(network, "13 of 13 convolutions have a bias"));
}

// The zoo has two heads more, which the sample leaves out.
TEST(ImportOnnx, GoogLeNetIsTheZoosMainPart) {
  const Network network = exported("googlenet.onnx");
  const Network zoo = load_network("googlenet", "--model");
  EXPECT_EQ(network.parameters(), zoo.parameters(Heads::kMain));
  EXPECT_EQ(network.forward_flops(), zoo.forward_flops(Heads::kMain));
}

TEST(ImportOnnx, BertIsTheZoosForQuestionAnswering) {
  const Network network = exported("bert-base.onnx");
  const Network zoo = load_network("bert-base-squad", "--model");
  EXPECT_EQ(network.parameters(), zoo.parameters());
  EXPECT_EQ(network.forward_flops(), zoo.forward_flops());
  EXPECT_EQ(network.backward_flops(), zoo.backward_flops());
  EXPECT_EQ(network.input_shape, (Shape{384}));
  // Three embeddings are added by two sums, and the head's bias is a layer.
  EXPECT_EQ(network.layers.size(), zoo.layers.size() + 2);
}

// LayerNormalization is an operator from version 17 on; taken apart before.
TEST(ImportOnnx, OpenTokensAreGiven) {
  const Network network = exported("bert-tiny-17.onnx", Shape{128});
  EXPECT_EQ(network.input_shape, (Shape{128}));
  EXPECT_EQ(network.parameters(), 590'850);
  // Scores and mix of two layers: 4 S^2 hidden; per token 12 hidden^2 weights a layer, 2 of the
  // ends.
  EXPECT_EQ(network.forward_flops(),
            2 * 4.0 * 128 * 128 * 128 + 2.0 * 128 * (2 * 12 * 128 * 128 + 2 * 128));
  EXPECT_NE(refusal([] { exported("bert-tiny-17.onnx"); }).find("--seq"), std::string::npos);
}

TEST(ImportOnnx, AVisionTransformerHasItsTokenAndPlaces) {
  const Network network = exported("vit.onnx");
  EXPECT_EQ(network.parameters(), 150'218);  // as torch counts them
  // 4 patches of 3x16x16; 5 tokens through 2 layers of 12 hidden^2; one vector through the head.
  EXPECT_EQ(network.forward_flops(),
            2.0 * (4 * 3 * 16 * 16 * 64 + 2 * 5 * 12 * 64 * 64 + 64 * 10) + 2 * 4.0 * 5 * 5 * 64);
}

TEST(ImportOnnx, OpenSidesAreGivenAndGatesPartsAndHardSwishAreRead) {
  const Network network = exported("mixed.onnx", Shape{3, 32, 32});
  EXPECT_EQ(network.parameters(), 934);
  EXPECT_TRUE(warns_of(network, "HardSwish as SiLU (1)"));
  EXPECT_NE(refusal([] { exported("mixed.onnx"); }).find("--input-shape"), std::string::npos);
  EXPECT_NE(refusal([] { exported("mixed.onnx", Shape{384}); }).find("cannot become 384"),
            std::string::npos);
}

TEST(ImportOnnx, RoundTripsThroughJson) {
  for (const char* name : {"resnet-18-folded.onnx", "vgg-16.onnx", "bert-base.onnx", "vit.onnx"}) {
    const Network network = exported(name);
    const std::string text = to_json(network).dump();
    const Network again = read_network(JsonInput::from_text(text, "copy.json"));
    EXPECT_EQ(to_json(again).dump(), text) << name;
    EXPECT_EQ(again.architecture.warnings, network.architecture.warnings);
  }
}

// Wherever a file ends, the answer is an InputError or the whole network.
TEST(ImportOnnx, ACutFileIsNeverAPartialNetwork) {
  std::ostringstream whole;
  whole << std::ifstream(kExports + "mixed.onnx", std::ios::binary).rdbuf();
  const std::string text = whole.str();
  for (std::size_t length = 0; length < text.size(); ++length) {
    std::istringstream in(text.substr(0, length));
    try {
      EXPECT_EQ(import_onnx(in, "cut.onnx", Shape{3, 32, 32}).parameters(), 934);
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("cut.onnx"), std::string::npos);
    }
  }
}

TEST(ImportOnnx, FilesThatAreNoneAreRefused) {
  const auto refused = [](const std::string& text) {
    return refusal([&] {
      std::istringstream in(text);
      import_onnx(in, "net.onnx");
    });
  };
  EXPECT_EQ(refused(""), "net.onnx: is empty");
  EXPECT_NE(refused("name: \"alexnet\" layer { }").find("something else"), std::string::npos);
  EXPECT_NE(refused(std::string(3, '\0')).find("something else"), std::string::npos);
  EXPECT_NE(refusal([] { import_onnx("/no/such.onnx"); }).find("cannot be opened"),
            std::string::npos);
  EXPECT_NE(refusal([] { import_onnx("/tmp"); }).find("is a folder"), std::string::npos);
}

}  // namespace
}  // namespace forescale
