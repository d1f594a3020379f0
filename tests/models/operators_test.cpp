// Operators of sequences by hand: shapes, parameters, FLOP, what they keep, the kernels they ask
// for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "models/compute/network_kernels.hpp"
#include "models/workload/network.hpp"
#include "models/workload/operator.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;

Network network_of(const std::string& layers, const std::string& shape = "[128]") {
  return read_network(JsonInput::from_text(
      R"({"name": "n", "source": "this test", "input_shape": )" + shape +
          R"(, "layers": [{"name": "data", "type": "Data", "top": ["data", "label"]}, )" + layers +
          R"(, {"name": "loss", "type": "SoftmaxWithLoss", "bottom": ["last", "label"]}]})",
      "net.json"));
}

std::string embedded(const std::string& rest) {
  return R"({"name": "words", "type": "Embedding", "bottom": "data", "num_output": 64,
             "vocabulary": 1000}, )" +
         rest;
}

const Layer& layer_named(const Network& network, const std::string& name) {
  for (const Layer& layer : network.layers)
    if (layer.name == name) return layer;
  throw std::out_of_range(name);
}

TEST(Operators, AnEmbeddingLooksUpAndALinearLayerIsAProductATokenVector) {
  const Network network = network_of(
      embedded(R"({"name": "last", "type": "Linear", "bottom": "words", "num_output": 10})"));
  const Layer& words = layer_named(network, "words");
  EXPECT_EQ(words.output_shape, (Shape{128, 64}));
  EXPECT_EQ(words.parameters, 64'000);
  EXPECT_FALSE(words.reads_all_parameters);
  EXPECT_EQ(words.forward_flops, 0);
  const Layer& linear = layer_named(network, "last");
  EXPECT_EQ(linear.output_shape, (Shape{128, 10}));
  EXPECT_EQ(linear.parameters, 64 * 10 + 10);
  EXPECT_EQ(linear.forward_flops, 2.0 * 128 * 64 * 10);
  EXPECT_EQ(linear.backward_flops, 2 * linear.forward_flops);
  EXPECT_EQ(linear.fully_connected(), nullptr);  // no sufficient factors: 128 vectors an image
  const auto kernels = kernels_of(linear.work, 3, Precision::kFp16);
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(kernels[0].shape,
            (decltype(kernels[0].shape)(GemmShape{10, 3 * 128, 64, true, false})));
  EXPECT_TRUE(network.is_text());
  EXPECT_TRUE(network.has_sequences());
}

const char* const kTables =
    R"({"name": "categories", "type": "Slice", "bottom": "data", "count": 26},
  {"name": "tables", "type": "SparseEmbedding", "bottom": "categories", "num_output": 128,
   "vocabulary": 30000000},
  {"name": "numbers", "type": "Slice", "bottom": "data", "count": 13},
  {"name": "bottom", "type": "InnerProduct", "bottom": "numbers", "num_output": 128},
  {"name": "pairs", "type": "DotInteraction", "bottom": ["tables", "bottom"]},
  {"name": "last", "type": "InnerProduct", "bottom": "pairs", "num_output": 1})";

// 26 vectors and one more have 27 * 26 / 2 pairs; products of 27 rows are padded to 32.
TEST(Operators, TablesAreNoParametersAndAllPairsOfVectorsAreOneProduct) {
  const Network network = network_of(kTables, "[39]");
  const Layer& tables = layer_named(network, "tables");
  EXPECT_EQ(tables.output_shape, (Shape{26, 128}));
  EXPECT_EQ(tables.parameters, 0);
  EXPECT_EQ(tables.tables.values, 30'000'000LL * 128);
  EXPECT_EQ(tables.tables.looked_up, 26 * 128);
  EXPECT_TRUE(tables.backward_runs);
  EXPECT_EQ(network.parameters(), 13 * 128 + 128 + 480 + 1);
  const Layer& pairs = layer_named(network, "pairs");
  EXPECT_EQ(pairs.output_shape, (Shape{128 + 351 + 1}));
  EXPECT_EQ(pairs.forward_flops, 2.0 * 32 * 32 * 128);
  EXPECT_EQ(pairs.backward_flops, 2 * pairs.forward_flops);
  EXPECT_STREQ(network.samples(), "samples");
}

TEST(Operators, TablesWantCategoriesAndPairsAVectorOfTheSameWidth) {
  std::string narrow = kTables;
  narrow.replace(narrow.find(R"("num_output": 128})"), 18, R"("num_output": 64})");
  EXPECT_THAT(refusal([&] { network_of(narrow, "[39]"); }),
              HasSubstr("must be one vector of 128 values"));
  EXPECT_THAT(refusal([&] { network_of(kTables, "[39, 4, 4]"); }), HasSubstr("must be categories"));
}

TEST(Operators, ASigmoidLossIsOfOneScore) {
  const auto network_with = [](int scores) {
    return refusal([&] {
      read_network(JsonInput::from_text(
          R"({"name": "n", "source": "this test", "input_shape": [8], "layers": [
              {"name": "data", "type": "Data", "top": ["data", "label"]},
              {"name": "y", "type": "InnerProduct", "bottom": "data", "num_output": )" +
              std::to_string(scores) +
              R"(}, {"name": "loss", "type": "SigmoidCrossEntropyLoss", "bottom": ["y", "label"]}]})",
          "net.json"));
    });
  };
  EXPECT_EQ(network_with(1), "accepted");
  EXPECT_THAT(network_with(2), HasSubstr("must be one score"));
}

TEST(Operators, ATiedLinearLayerHasWorkAndABiasButNoWeights) {
  const Network network = network_of(embedded(
      R"({"name": "last", "type": "Linear", "bottom": "words", "num_output": 1000, "tied": true})"));
  EXPECT_EQ(layer_named(network, "last").parameters, 1000);
  EXPECT_EQ(layer_named(network, "last").forward_flops, 2.0 * 128 * 64 * 1000);
}

// Scores and mix are 4 S^2 heads D together; fused attention the same, half where causal.
TEST(Operators, AttentionFusedOrNotHasTheSameProducts) {
  const auto apart = network_of(embedded(
      R"({"name": "scores", "type": "AttentionScores", "bottom": ["words", "words"], "heads": 4},
         {"name": "softmax", "type": "AttentionSoftmax", "bottom": "scores"},
         {"name": "last", "type": "AttentionMix", "bottom": ["softmax", "words"]})"));
  const double flops = 4.0 * 128 * 128 * 64;
  EXPECT_EQ(layer_named(apart, "scores").output_shape, (Shape{4, 128, 128}));
  EXPECT_EQ(layer_named(apart, "last").output_shape, (Shape{128, 64}));
  EXPECT_EQ(apart.forward_flops(), flops);
  EXPECT_EQ(apart.backward_flops(), 2 * flops);
  const auto products = kernels_of(layer_named(apart, "scores").work, 5, Precision::kFp16);
  ASSERT_EQ(products.size(), 3U);
  EXPECT_EQ(std::get<GemmShape>(products[0].shape).count, 20);
  double gradients = 0;
  for (size_t i = 1; i < products.size(); ++i) gradients += flops_of(products[i]);
  EXPECT_EQ(gradients, 2 * flops_of(products[0]));

  const auto fused = [&](const std::string& more) {
    return network_of(
        embedded(R"({"name": "last", "type": "Attention", "bottom": ["words", "words", "words"],
                     "heads": 4)" +
                 more + "}"));
  };
  EXPECT_EQ(fused("").forward_flops(), flops);
  EXPECT_EQ(fused("").backward_flops(), 2.5 * flops);
  EXPECT_EQ(fused(R"(, "causal": true)").forward_flops(), flops / 2);
  EXPECT_EQ(layer_named(fused(""), "last").kept_per_image, Bytes{4 * 4 * 128});
  const auto kernels = kernels_of(layer_named(fused(""), "last").work, 2, Precision::kBf16);
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(std::get<AttentionShape>(kernels[1].shape).batch, 2);
  EXPECT_EQ(kernels[1].pass, KernelPass::kBackward);
}

TEST(Operators, NormsGatherAndGates) {
  const Network network = network_of(embedded(
      R"({"name": "norm", "type": "LayerNorm", "bottom": "words"},
         {"name": "rms", "type": "RMSNorm", "bottom": "norm"},
         {"name": "gate", "type": "SiLU", "bottom": "rms"},
         {"name": "gated", "type": "Multiply", "bottom": ["rms", "gate"]},
         {"name": "last", "type": "Gather", "bottom": "gated", "keeps": 5, "of": 32})"));
  EXPECT_EQ(layer_named(network, "norm").parameters, 128);
  EXPECT_EQ(layer_named(network, "rms").parameters, 64);
  EXPECT_EQ(layer_named(network, "norm").kept_per_image, Bytes{4 * 2 * 128});
  EXPECT_EQ(layer_named(network, "last").output_shape, (Shape{20, 64}));
  const Network image = network_of(
      R"({"name": "pool", "type": "Pooling", "bottom": "data", "pool": "AVE",
          "global_pooling": true},
         {"name": "last", "type": "Multiply", "bottom": ["data", "pool"]})",
      "[8, 4, 4]");
  EXPECT_EQ(layer_named(image, "last").output_shape, (Shape{8, 4, 4}));
  EXPECT_FALSE(image.has_sequences());
}

TEST(Operators, AnotherShapeOfTheInputHasAsManySides) {
  EXPECT_EQ(load_network("bert-large", "--model", Shape{128}).input_shape, Shape{128});
  EXPECT_NE(testing::refusal([] {
              load_network("bert-large", "--model", Shape{3, 8, 8});
            }).find("cannot become 3x8x8"),
            std::string::npos);
}

TEST(Operators, WhatDoesNotFitIsRefused) {
  const auto refusal = [](const std::string& layers) {
    return testing::refusal([&] { network_of(embedded(layers)); });
  };
  EXPECT_NE(refusal(R"({"name": "last", "type": "AttentionScores", "bottom": ["words", "words"],
                        "heads": 5})")
                .find("must divide the width 64"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"name": "last", "type": "Attention", "bottom": ["words", "words", "words"],
                        "heads": 4, "kv_heads": 3})")
                .find("multiple of kv_heads"),
            std::string::npos);
  EXPECT_NE(
      refusal(R"({"name": "last", "type": "Attention", "bottom": ["words", "words", "words"]})")
          .find("/heads: is required"),
      std::string::npos);
  EXPECT_NE(refusal(R"({"name": "last", "type": "Gather", "bottom": "words", "count": 129})")
                .find("must be <= the tokens 128"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"name": "last", "type": "Linear", "bottom": "words", "num_output": 4,
                        "heads": 4})")
                .find("for a Linear layer"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"name": "last", "type": "Convolution", "bottom": "words", "num_output": 4,
                        "kernel_size": 3})")
                .find("channels x height x width"),
            std::string::npos);
}

TEST(Operators, ViewsHaveTheSameValuesAndPartsSome) {
  const Network network = network_of(
      R"({"name": "seen", "type": "Reshape", "bottom": "data", "num_output": 36, "rows": 8},
         {"name": "part", "type": "Slice", "bottom": "seen", "count": 12},
         {"name": "last", "type": "Reshape", "bottom": "part", "channels": 3, "rows": 4,
          "num_output": 8})",
      "[6, 8, 6]");
  EXPECT_EQ(layer_named(network, "seen").output_shape, (Shape{8, 36}));
  EXPECT_EQ(layer_named(network, "part").output_shape, (Shape{8, 12}));
  EXPECT_EQ(layer_named(network, "last").output_shape, (Shape{3, 4, 8}));
  EXPECT_EQ(layer_named(network, "last").activation_per_image.value, 0);
  EXPECT_NE(testing::refusal([] {
              network_of(
                  R"({"name": "last", "type": "Reshape", "bottom": "data", "num_output": 5,
                      "rows": 8})",
                  "[6, 8, 6]");
            }).find("must have the values of 8x5"),
            std::string::npos);
  EXPECT_NE(testing::refusal([] {
              network_of(R"({"name": "last", "type": "Slice", "bottom": "data", "count": 7})",
                         "[6, 8, 6]");
            }).find("must be <= the input's 6"),
            std::string::npos);
}

TEST(Operators, LearnedVectorsAreParametersAndTiedLayersHaveNone) {
  const Network network = network_of(embedded(
      R"({"name": "places", "type": "Learned", "bottom": [], "num_output": 64, "count": 128},
         {"name": "sum", "type": "Eltwise", "bottom": ["words", "places"]},
         {"name": "norm", "type": "LayerNorm", "bottom": "sum", "tied": true},
         {"name": "bias", "type": "Bias", "bottom": "norm", "tied": true},
         {"name": "again", "type": "Embedding", "bottom": "data", "num_output": 64,
          "vocabulary": 1000, "tied": true},
         {"name": "last", "type": "Eltwise", "bottom": ["bias", "again"]})"));
  EXPECT_EQ(layer_named(network, "places").parameters, 128 * 64);
  EXPECT_EQ(layer_named(network, "norm").parameters, 64);  // its shift
  EXPECT_EQ(layer_named(network, "bias").parameters, 0);
  EXPECT_EQ(layer_named(network, "again").parameters, 0);
}

// Five pixels a side become 2 (5 - 1) + 3 - 2 + 1 = 10, each with 3 x 3 values of 4 channels.
TEST(Operators, ATransposedConvolutionIsAProductOfEachPixel) {
  const Network network = network_of(
      R"({"name": "last", "type": "Deconvolution", "bottom": "data", "num_output": 4,
          "kernel_size": 3, "stride": 2, "pad": 1, "output_padding": 1})",
      "[6, 5, 5]");
  const Layer& layer = layer_named(network, "last");
  EXPECT_EQ(layer.output_shape, (Shape{4, 10, 10}));
  EXPECT_EQ(layer.parameters, 6 * 4 * 9 + 4);
  EXPECT_EQ(layer.forward_flops, 2.0 * 6 * 4 * 9 * 25);
  const auto kernels = kernels_of(layer.work, 2, Precision::kFp16);
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(kernels[0].shape,
            (decltype(kernels[0].shape)(GemmShape{4 * 9, 2 * 25, 6, true, false})));
  EXPECT_NE(testing::refusal([] {
              network_of(
                  R"({"name": "last", "type": "Deconvolution", "bottom": "data", "num_output": 4,
                      "kernel_size": 1, "stride": 1, "pad": 3})",
                  "[6, 5, 5]");
            }).find("leaves -1 of an input of 5"),
            std::string::npos);
}

TEST(Operators, ImagesAreCroppedAndBroughtToAFinerMap) {
  const Network network = network_of(
      R"({"name": "middle", "type": "Crop", "bottom": "data", "height": 3, "width": 4},
         {"name": "last", "type": "Upsample", "bottom": "middle", "scale": 2})",
      "[6, 5, 5]");
  EXPECT_EQ(layer_named(network, "middle").output_shape, (Shape{6, 3, 4}));
  EXPECT_EQ(layer_named(network, "last").output_shape, (Shape{6, 6, 8}));
  EXPECT_EQ(layer_named(network, "last").forward_flops, 0);
  EXPECT_NE(testing::refusal([] {
              network_of(R"({"name": "last", "type": "Crop", "bottom": "data", "height": 6,
                             "width": 4})",
                         "[6, 5, 5]");
            }).find("must be within the input 6x5x5"),
            std::string::npos);
}

// 128 words: as many products one after the other, forward and of the gradient by data, and one of
// the gradient by weights.
TEST(Operators, AMemoryAsksForOneProductAWord) {
  const Network network = network_of(
      embedded(R"({"name": "gates", "type": "Linear", "bottom": "words", "num_output": 32},
                  {"name": "memory", "type": "LSTM", "bottom": "gates"},
                  {"name": "last", "type": "LSTMCell", "bottom": "memory"})"));
  const Layer& memory = layer_named(network, "memory");
  EXPECT_EQ(memory.output_shape, (Shape{128, 32}));
  EXPECT_EQ(memory.parameters, 32 * 8 + 32);
  EXPECT_EQ(memory.forward_flops, 2.0 * 128 * 32 * 8);
  EXPECT_EQ(memory.backward_flops, 2 * memory.forward_flops);
  EXPECT_EQ(layer_named(network, "last").output_shape, (Shape{128, 8}));
  const auto kernels = kernels_of(memory.work, 5, Precision::kFp32);
  ASSERT_EQ(kernels.size(), 128U + 128U + 1U);
  EXPECT_EQ(kernels.front().shape, (decltype(kernels[0].shape)(GemmShape{32, 5, 8, true, false})));
  EXPECT_EQ(kernels[128].pass, KernelPass::kBackwardData);
  EXPECT_EQ(kernels.back().shape,
            (decltype(kernels[0].shape)(GemmShape{8, 32, 5 * 128, false, true})));
  EXPECT_EQ(kernels.back().pass, KernelPass::kBackwardWeights);
  EXPECT_NE(testing::refusal([] {
              network_of(embedded(R"({"name": "gates", "type": "Linear", "bottom": "words",
                                      "num_output": 30},
                                     {"name": "last", "type": "LSTM", "bottom": "gates"})"));
            }).find("must have 4 values for each of the state's"),
            std::string::npos);
}

TEST(Operators, WhatWouldNotEndIsRefused) {
  const auto words = [](const std::string& layers) {
    return testing::refusal([&] { network_of(embedded(layers), "[100000]"); });
  };
  EXPECT_NE(
      words(R"({"name": "last", "type": "LSTM", "bottom": "words"})").find("at most 16384 words"),
      std::string::npos);
  EXPECT_NE(words(R"({"name": "pairs", "type": "Pairs", "bottom": ["words", "words"]},
                     {"name": "last", "type": "Pairs", "bottom": ["pairs", "pairs"]})")
                .find("must be < 2^53 values"),
            std::string::npos);
  EXPECT_NE(testing::refusal([] {
              network_of(
                  R"({"name": "first", "type": "Crop", "bottom": "data", "height": 100000,
                      "width": 1},
                     {"name": "wide", "type": "Deconvolution", "bottom": "first", "num_output": 1,
                      "kernel_size": 1, "stride": [100000, 1]},
                     {"name": "last", "type": "Upsample", "bottom": "wide", "scale": 10000000})",
                  "[1, 100000, 1]");
            }).find("must be < 2^53 values"),
            std::string::npos);
}

TEST(Operators, SequencesArePairedAndPutSideBySide) {
  const Network network = network_of(
      embedded(R"({"name": "keys", "type": "Linear", "bottom": "words", "num_output": 64},
                  {"name": "pairs", "type": "Pairs", "bottom": ["words", "keys"]},
                  {"name": "score", "type": "Linear", "bottom": "pairs", "num_output": 1},
                  {"name": "rows", "type": "Reshape", "bottom": "score", "num_output": 128,
                   "rows": 128},
                  {"name": "last", "type": "Concat", "bottom": ["words", "rows"],
                   "values": true})"));
  EXPECT_EQ(layer_named(network, "pairs").output_shape, (Shape{128 * 128, 64}));
  EXPECT_EQ(layer_named(network, "last").output_shape, (Shape{128, 64 + 128}));
  EXPECT_NE(testing::refusal([] {
              network_of(embedded(R"({"name": "keys", "type": "Linear", "bottom": "words",
                                      "num_output": 32},
                                     {"name": "last", "type": "Pairs",
                                      "bottom": ["words", "keys"]})"));
            }).find("must have 64 values a vector"),
            std::string::npos);
  EXPECT_NE(testing::refusal([] {
              network_of(embedded(R"({"name": "few", "type": "Gather", "bottom": "words",
                                      "count": 3},
                                     {"name": "last", "type": "Concat",
                                      "bottom": ["words", "few"], "values": true})"));
            }).find("in all but the values"),
            std::string::npos);
}

}  // namespace
}  // namespace forescale
