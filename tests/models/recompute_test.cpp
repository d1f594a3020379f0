// What runs again before a decoder's backward pass, and what is not kept for it.
#include "models/workload/transformer/recompute.hpp"

#include <gtest/gtest.h>

#include "base/data_files.hpp"
#include "models/workload/transformer/decoder.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kTokens = 1024;

Transformer model_named(const std::string& name) {
  return read_transformer(model_input(name, "--model"));
}

Network block_of(const Transformer& model, std::int64_t layer, std::int64_t tensor = 1) {
  return infer_network(decoder(model, kTokens, "--layout",
                               {.tensor = tensor,
                                .first_layer = layer,
                                .layers = 1,
                                .has_embedding = false,
                                .has_head = false}));
}

// Values of a layer that are no longer kept: of each token the widths that the module makes.
TEST(Recompute, ModulesThatRunAgainAreNotKept) {
  const auto dropped = [](const std::string& name, std::int64_t layer, const std::string& module) {
    const Network network = block_of(model_named(name), layer);
    return kept_for_backward(network, runs_again({})).values -
           kept_for_backward(network, runs_again({module})).values;
  };
  EXPECT_EQ(dropped("llama-2-7b", 1, "mlp"), 1024 * 3 * 11008);
  EXPECT_EQ(dropped("llama-2-7b", 1, "layernorm"), 1024 * 2 * 4096);
  // Queries, and what keys and values come from: 128 heads of 192 and of 256, ranks 1,536 and 512.
  EXPECT_EQ(dropped("deepseek-v3", 1, "mla_up_proj"), 1024 * (128 * (192 + 256) + 1536 + 512));
  EXPECT_EQ(dropped("deepseek-v3", 1, "mlp"), 1024 * 3 * 18432);
  EXPECT_EQ(dropped("deepseek-v3", 4, "mlp"), 0);  // with experts
  EXPECT_EQ(dropped("deepseek-v3", 4, "shared_experts"), 1024 * 3 * 2048);
  EXPECT_EQ(dropped("deepseek-v3", 4, "moe_act"), 8 * 1024 * 2048);
}

// Of queries, keys and values every second product, which is the keys'; of the gate's two the
// second; the last one's result is read by nobody.
TEST(Recompute, EverySecondProductRunsAgain) {
  const RunsAgainRule again = runs_again_by_operator(model_named("llama-3-8b"), {});
  EXPECT_DOUBLE_EQ(again("layer1/qkv").share(), 1024.0 / (4096 + 2 * 1024));
  EXPECT_EQ(again("layer1/projection").share(), 1);
  EXPECT_EQ(again("layer32/ffn/up").share(), 0.5);
  EXPECT_EQ(again("layer1/ffn/down").share(), 0);
  EXPECT_EQ(again("layer1/core_attention").share(), 0);
  for (const char* layer : {"layer1/attention/norm", "layer1/rotary", "layer1/ffn/activation"})
    EXPECT_EQ(again(layer).share(), 1) << layer;
  for (const char* layer : {"norm", "head", "embedding/word", "loss"})
    EXPECT_EQ(again(layer).share(), 0) << layer;
}

// Shared, with a reduce-scatter, which is saved, behind the product that attention ends with.
TEST(Recompute, WhatIsScatteredIsSaved) {
  const RunsAgainRule again =
      runs_again_by_operator(model_named("llama-3-8b"), {.tensor = 8, .scatters_results = true});
  EXPECT_EQ(again("layer1/projection").share(), 0);
  EXPECT_EQ(again("layer1/attention/collect").share(), 0);
  EXPECT_DOUBLE_EQ(again("layer1/qkv").share(), 1.0 / 6);
}

// FP8's, and those with a bias (qwen2's queries, keys and values), are no plain products.
TEST(Recompute, OtherProductsAreSavedByLaterReleases) {
  const Transformer llama = model_named("llama-3-8b");
  const RunsAgainRule before = runs_again_by_operator(llama, {.has_plain_products = false});
  const RunsAgainRule now =
      runs_again_by_operator(llama, {.has_plain_products = false, .saves_other_products = true});
  const Transformer qwen = model_named("qwen2.5-72b");
  for (const char* product : {"layer1/qkv", "layer1/projection", "layer1/ffn/up"}) {
    EXPECT_EQ(before(product).share(), 1) << product;
    EXPECT_EQ(now(product).share(), 0) << product;
  }
  EXPECT_EQ(runs_again_by_operator(qwen, {})("layer1/qkv").share(), 1);
  EXPECT_EQ(runs_again_by_operator(qwen, {})("layer1/projection").share(), 0);
  EXPECT_EQ(runs_again_by_operator(qwen, {})("layer1/ffn/up").share(), 0.5);
}

// Of each token the block's input, two of queries, keys and values, what attention makes, half of
// what is gated; and a number for each head of attention. Of FP8 before the first and the third.
TEST(Recompute, WhatIsSavedByOperatorIsKept) {
  const Transformer model = model_named("llama-2-7b");
  const auto kept = [&](const BlockOperators& operators) {
    return kept_for_backward(block_of(model, 1), runs_again_by_operator(model, operators));
  };
  EXPECT_EQ(kept({}).values, kTokens * (4096 + 2 * 4096 + 4096 + 11008));
  EXPECT_EQ(kept({}).own, kTokens * 32);
  EXPECT_EQ(kept({.has_plain_products = false}).values, kTokens * (4096 + 4096));
  EXPECT_GT(kept_for_backward(block_of(model, 1)).values, kept({}).values);
}

// All of the blocks and nothing else; up to the last layer whose input is read.
TEST(Recompute, OfWholeBlocks) {
  const Network all = infer_network(decoder(model_named("llama-2-7b"), kTokens, "--layout"));
  const std::set<std::string> whole = run_again_in_blocks(all, false);
  const std::set<std::string> early = run_again_in_blocks(all, true);
  EXPECT_EQ(whole.size(), 32U * 11U);
  for (const char* name : {"ffn/down", "ffn/sum"}) {
    EXPECT_TRUE(whole.contains(std::string("layer32/") + name));
    EXPECT_FALSE(early.contains(std::string("layer32/") + name));
  }
  EXPECT_EQ(early.size(), 32U * 9U);
  for (const char* name : {"embedding/word", "norm", "head", "loss"})
    EXPECT_FALSE(whole.contains(name)) << name;
  // Dropout's mask is read again, so that it has to run.
  const Network gpt = infer_network(decoder(model_named("gpt-3-5b"), kTokens, "--layout"));
  EXPECT_TRUE(run_again_in_blocks(gpt, true).contains("layer1/ffn/sum"));
}

}  // namespace
}  // namespace forescale
