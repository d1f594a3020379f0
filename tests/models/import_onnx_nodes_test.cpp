// ONNX nodes by hand: what they become, and what is refused with file, node and reason.
#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "tests/base/refusal.hpp"
#include "tests/models/onnx_making.hpp"

namespace forescale {
namespace {

using testing::MadeOnnx;
using testing::refusal;
using testing::set_integer;
using testing::set_integers;
using testing::set_text;

std::string refused(const MadeOnnx& made, const std::optional<Shape>& shape = std::nullopt) {
  return refusal([&] { made.network(shape); });
}

// An image, a 3x3 convolution with 8 filters, and the rest.
MadeOnnx with_convolution() {
  MadeOnnx made;
  made.input("x", {1, 3, 8, 8}).weights("conv.weight", {8, 3, 3, 3}).output("y");
  return made;
}

const LayerSpec& spec_of(const Network& network, const std::string& type) {
  for (const LayerSpec& layer : network.architecture.layers)
    if (layer.type == type) return layer;
  throw std::out_of_range(type);
}

bool says(const Network& network, const std::string& part) {
  for (const std::string& warning : network.architecture.warnings)
    if (warning.find(part) != std::string::npos) return true;
  return false;
}

TEST(OnnxNodes, PaddingThatIsUnevenBecomesEvenWithAsManyOutputs) {
  MadeOnnx made = with_convolution();
  auto& node = made.node("Conv", {"x", "conv.weight"}, "y");
  set_integers(node, "strides", {2, 2});
  set_text(node, "auto_pad", "SAME_UPPER");  // 0 before and 1 behind: 4 outputs, as 1 and 1 give
  const Network network = made.network();
  EXPECT_EQ(network.layers.at(1).output_shape, (Shape{8, 4, 4}));
  EXPECT_EQ(spec_of(network, "Convolution").pad, (Extent{1, 1}));
  EXPECT_TRUE(says(network, "uneven padding"));
}

TEST(OnnxNodes, APadBeforeAConvolutionIsItsOwn) {
  MadeOnnx made = with_convolution();
  made.integers("pads", {0, 0, 1, 2, 0, 0, 1, 2});
  made.node("Pad", {"x", "pads"}, "padded");
  made.node("Conv", {"padded", "conv.weight"}, "y");
  const Network network = made.network();
  EXPECT_EQ(spec_of(network, "Convolution").pad, (Extent{1, 2}));
  EXPECT_EQ(network.layers.at(1).output_shape, (Shape{8, 8, 10}));
}

TEST(OnnxNodes, ChannelsLastInputsAreReadAsTensorFlowExportsThem) {
  MadeOnnx made;
  made.input("x", {0, 9, 8, 3}).weights("k", {8, 3, 3, 3}).output("y");
  set_integers(made.node("Transpose", {"x"}, "first"), "perm", {0, 3, 1, 2});
  made.node("Conv", {"first", "k"}, "y");
  const Network network = made.network();
  EXPECT_EQ(network.input_shape, (Shape{3, 9, 8}));
  EXPECT_EQ(network.layers.size(), 3U);  // data, convolution, loss
}

TEST(OnnxNodes, ShapesAreFollowedThroughArithmetic) {
  MadeOnnx made = with_convolution();
  made.integers("zero", {0}).integers("rest", {-1}).weights("w", {288, 10});
  made.node("Conv", {"x", "conv.weight"}, "c");
  made.node("Shape", {"c"}, "sides");
  made.node("Gather", {"sides", "zero"}, "batch");
  set_integer(made.node("Concat", {"batch", "rest"}, "target"), "axis", 0);
  made.node("Reshape", {"c", "target"}, "flat");
  made.node("MatMul", {"flat", "w"}, "y");
  const Network network = made.network();
  EXPECT_EQ(network.parameters(), 8 * 3 * 9 + 288 * 10);
  EXPECT_EQ(spec_of(network, "InnerProduct").bottoms, std::vector<std::string>{"conv"});
}

TEST(OnnxNodes, ABiasBehindAProductIsItsOwn) {
  MadeOnnx made;
  made.input("x", {1, 3, 2, 2}).weights("w", {12, 10}).weights("b", {10}).output("y");
  made.node("Flatten", {"x"}, "flat");
  made.node("MatMul", {"flat", "w"}, "product");
  made.node("Add", {"product", "b"}, "y");
  const Network network = made.network();
  EXPECT_EQ(network.layers.size(), 3U);
  EXPECT_EQ(network.layers.at(1).parameters, 12 * 10 + 10);
}

TEST(OnnxNodes, WeightsOfSeveralLayersCountOnce) {
  MadeOnnx made;
  made.input("x", {1, 3, 8, 8}).weights("k", {3, 3, 1, 1}).weights("b", {3}).output("y");
  made.node("Conv", {"x", "k", "b"}, "first");
  made.node("Conv", {"first", "k", "b"}, "y");
  const Network network = made.network();
  EXPECT_EQ(network.parameters(), 3 * 3 + 3);
  EXPECT_EQ(network.forward_flops(), 2 * 2.0 * 3 * 3 * 8 * 8);
  EXPECT_TRUE(says(network, "2 tensors are parameters of several layers"));
}

TEST(OnnxNodes, IdentitiesAndNodesThatNobodyReadsAreLeftOut) {
  MadeOnnx made = with_convolution();
  made.node("Identity", {"conv.weight"}, "same");
  made.node("Conv", {"x", "same"}, "y");
  made.node("Einsum", {"y"}, "unread");
  EXPECT_EQ(made.network().layers.size(), 3U);
}

TEST(OnnxNodes, ASoftmaxAtTheEndIsTheLoss) {
  MadeOnnx made = with_convolution();
  made.node("Conv", {"x", "conv.weight"}, "scores");
  made.node("Softmax", {"scores"}, "y");
  const Network network = made.network();
  EXPECT_EQ(network.layers.size(), 3U);
  EXPECT_EQ(network.layers.back().type, "SoftmaxWithLoss");
}

TEST(OnnxNodes, WhatIsUnusualIsSaid) {
  MadeOnnx made = with_convolution();
  made.model.mutable_opset_import(0)->set_version(25);
  made.graph().mutable_initializer(0)->set_data_type(10);
  made.graph().mutable_initializer(0)->set_data_location(1);
  made.node("Conv", {"x", "conv.weight"}, "c");
  made.weights("slope", {8, 1, 1});
  made.node("PRelu", {"c", "slope"}, "y");
  const Network network = made.network();
  for (const char* part : {"version 25", "half precision", "other files", "PRelu as ReLU (1)",
                           "1 tensors of the file are counted as no parameters: slope (8x1x1)"})
    EXPECT_TRUE(says(network, part)) << part;
}

TEST(OnnxNodes, AnUnknownTypeIsRefusedWithWhatIsKnown) {
  MadeOnnx made = with_convolution();
  made.node("ConvTranspose", {"x", "conv.weight"}, "y");
  const std::string text = refused(made);
  EXPECT_NE(text.find("made.onnx:/graph/node/0: is of a type"), std::string::npos) << text;
  EXPECT_NE(text.find("AveragePool, BatchNormalization"), std::string::npos) << text;
  EXPECT_NE(text.find("(ConvTranspose \"n_y\")"), std::string::npos) << text;
}

TEST(OnnxNodes, ConvolutionsOfOtherThanTwoDimensionsAreRefused) {
  MadeOnnx made;
  made.input("x", {1, 3, 8, 8}).weights("k", {8, 3, 3}).output("y");
  made.node("Conv", {"x", "k"}, "y");
  EXPECT_NE(refused(made).find("has 1 dimensions"), std::string::npos) << refused(made);
}

TEST(OnnxNodes, WeightsThatDoNotFitAreRefused) {
  MadeOnnx made = with_convolution();
  made.weights("wrong", {8, 4, 3, 3});
  made.node("Conv", {"x", "wrong"}, "y");
  EXPECT_NE(refused(made).find("weights 8x4x3x3 in 1 groups for 3 channels"), std::string::npos);
}

TEST(OnnxNodes, GraphsThatAreNotInOrderOrHaveHolesAreRefused) {
  MadeOnnx circle = with_convolution();
  circle.node("Add", {"x", "z"}, "y");
  circle.node("Relu", {"y"}, "z");
  EXPECT_NE(refused(circle).find("/graph/node/0 = z: reads what a later node makes"),
            std::string::npos)
      << refused(circle);
  MadeOnnx hole = with_convolution();
  hole.node("Relu", {"nothing"}, "y");
  EXPECT_NE(refused(hole).find("= nothing: reads what no node makes"), std::string::npos);
  MadeOnnx twice = with_convolution();
  twice.node("Relu", {"x"}, "y");
  twice.node("Relu", {"x"}, "y");
  EXPECT_NE(refused(twice).find("there already"), std::string::npos);
  MadeOnnx missing = with_convolution();
  missing.node("Conv", {"x"}, "y");
  EXPECT_NE(refused(missing).find("must have an input 2"), std::string::npos) << refused(missing);
}

TEST(OnnxNodes, SidesThatCannotBeAreRefused) {
  MadeOnnx negative = with_convolution();
  negative.graph().mutable_initializer(0)->set_dims(0, -8);
  negative.node("Conv", {"x", "conv.weight"}, "y");
  EXPECT_NE(refused(negative).find("must have sides >= 0"), std::string::npos);
  MadeOnnx huge = with_convolution();
  huge.weights("huge", {std::int64_t{1} << 40, std::int64_t{1} << 40});
  huge.node("Conv", {"x", "conv.weight"}, "y");
  EXPECT_NE(refused(huge).find("must be < 2^53 values"), std::string::npos);
  MadeOnnx stride = with_convolution();
  set_integers(stride.node("Conv", {"x", "conv.weight"}, "y"), "strides", {0, 1});
  EXPECT_NE(refused(stride).find("strides >= 1"), std::string::npos);
  MadeOnnx pads = with_convolution();
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  set_integers(pads.node("Conv", {"x", "conv.weight"}, "y"), "pads",
               {largest, largest, largest, largest});
  EXPECT_NE(refused(pads).find("from 0 to 1e9"), std::string::npos);
}

TEST(OnnxNodes, NamesThatAreNotUtf8AreRefused) {
  MadeOnnx made = with_convolution();
  made.node("Conv", {"x", "conv.weight"}, "y").set_name("\xff\xfe");
  EXPECT_NE(refused(made).find("not UTF-8"), std::string::npos);
}

TEST(OnnxNodes, InputsThatAreNeitherImagesNorTextAreRefused) {
  MadeOnnx made;
  made.input("x", {1, 16}).weights("w", {16, 4}).output("y");
  made.node("MatMul", {"x", "w"}, "y");
  EXPECT_NE(refused(made).find("\"x\" of 2 sides: must have an image"), std::string::npos)
      << refused(made);
}

}  // namespace
}  // namespace forescale
