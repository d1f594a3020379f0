// Attention in layouts: with scores in memory, computed again, with a sequence on several GPUs.
#include <gtest/gtest.h>

#include "base/data_files.hpp"
#include "models/workload/kept.hpp"
#include "models/workload/network.hpp"
#include "models/workload/transformer/decoder.hpp"
#include "models/workload/transformer/recompute.hpp"
#include "studies/layout/layout_prediction.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using testing::refusal;

constexpr std::int64_t kTokens = 2048;
constexpr std::int64_t kHalfBytes = 2;

// One layer of GPT-3 175B: hidden 12,288, 96 heads.
std::int64_t kept_of_a_layer(std::int64_t tensor, bool is_unfused,
                             const std::vector<std::string>& modules) {
  const Transformer model = read_transformer(model_input("gpt-3-175b", "--model"));
  const Network layer = infer_network(decoder(model, kTokens, "--seq",
                                              {.tensor = tensor,
                                               .first_layer = 1,
                                               .layers = 1,
                                               .has_embedding = false,
                                               .has_head = false,
                                               .has_scores_in_memory = is_unfused}));
  const KeptBytes kept = kept_for_backward(layer, runs_again(modules));
  return kept.bytes(kHalfBytes).value;
}

// sbh (34 + 5 as/h) bytes over t, without what selective recomputation leaves out 34; and the two
// norms' mean and variance, which the paper leaves out. Korthikanti et al., arXiv:2205.05198,
// equations 1, 4 and 6.
TEST(UnfusedAttention, KeepsWhatThePaperCounts) {
  constexpr std::int64_t kTokenBytes = kTokens * 12288;
  constexpr std::int64_t kScores = 5 * 96 * kTokens / 12288;
  for (const std::int64_t tensor : {1, 8}) {
    const std::int64_t statistics = 2 * 2 * 4 * kTokens / tensor;
    EXPECT_EQ(kept_of_a_layer(tensor, true, {}),
              kTokenBytes * (34 + kScores) / tensor + statistics);
    EXPECT_EQ(kept_of_a_layer(tensor, true, {"core_attn"}), kTokenBytes * 34 / tensor + statistics);
    // Flash attention keeps a number a query and head.
    EXPECT_EQ(kept_of_a_layer(tensor, false, {}),
              kTokenBytes * 34 / tensor + statistics + 4 * 96 * kTokens / tensor);
    // Without the results of both norms, 2 bytes a value each, and what these keep.
    EXPECT_EQ(kept_of_a_layer(tensor, true, {"core_attn", "layernorm"}), kTokenBytes * 30 / tensor);
  }
}

LayoutPrediction predicted_layout(const std::string& layout, std::int64_t gpus,
                                  const std::string& model = "llama-3-8b",
                                  std::int64_t tokens = 8192) {
  Question question;
  question.platform = "dgx-h100";
  question.model = model;
  question.sequence = tokens;
  question.layout = layout;
  Asker asker;
  return predict_layouts({{.question = question, .gpus = gpus}}, asker).front();
}

TEST(UnfusedAttention, TakesLongerAndMoreMemory) {
  const LayoutPrediction flash = predicted_layout("tp=8,micro=1", 8);
  const LayoutPrediction unfused = predicted_layout("tp=8,micro=1,attention=unfused", 8);
  EXPECT_GT(unfused.compute_s, 1.5 * flash.compute_s);
  EXPECT_GT(unfused.memory.bytes, flash.memory.bytes);
  EXPECT_EQ(unfused.tensor_s, flash.tensor_s);
  EXPECT_EQ(unfused.model_flops, flash.model_flops);
  const LayoutPrediction again =
      predicted_layout("tp=8,micro=1,attention=unfused,recompute=selective", 8);
  EXPECT_GT(again.compute_s, unfused.compute_s);
  EXPECT_LT(again.memory.bytes, unfused.memory.bytes);
  EXPECT_NE(refusal([] { predicted_layout("cp=2,attention=unfused", 8); }).find("needs flash"),
            std::string::npos);
}

// Long sequences take longer to attend to than keys and values take to come round.
TEST(ContextParallelism, ARingHidesUnderAttention) {
  const auto context_s = [](const std::string& comm, std::int64_t tokens) {
    return predicted_layout("cp=8,zero=3,recompute=full,cp_comm=" + comm, 8, "llama-2-7b", tokens)
        .context_s;
  };
  constexpr std::int64_t kLong = 131072;
  EXPECT_EQ(context_s("p2p", kLong), 0);
  EXPECT_GT(context_s("p2p", kTokens), 0);
  EXPECT_GT(context_s("all_gather", kTokens), context_s("p2p", kTokens));
  EXPECT_GT(context_s("all_gather", kLong), 0);
  EXPECT_GT(context_s("a2a", kLong), 0);
}

// Of 32 query and 8 key-value heads of 128 values, on 4 GPUs, in BF16: what an all-gather of keys
// and values ends with; what an all-to-all of heads takes; in each pass of each layer.
TEST(ContextParallelism, SendsWhatItsKindSends) {
  const Transformer model = read_transformer(model_input("llama-3-8b", "--model"));
  const auto values = [&](bool sends_heads) {
    const Network layer = infer_network(decoder(model, kTokens, "--seq",
                                                {.context = 4,
                                                 .sends_heads = sends_heads,
                                                 .first_layer = 1,
                                                 .layers = 1,
                                                 .has_embedding = false,
                                                 .has_head = false}));
    std::vector<std::int64_t> sent;
    for (const Layer& each : layer.layers)
      if (each.exchange) sent.push_back(each.exchange->values);
    return sent;
  };
  EXPECT_EQ(values(false), (std::vector<std::int64_t>{kTokens * 2 * 8 * 128}));
  EXPECT_EQ(values(true),
            (std::vector<std::int64_t>{kTokens / 4 * (32 + 2 * 8) * 128, kTokens / 4 * 32 * 128}));
}

TEST(ContextParallelism, RefusesHeadsThatDoNotDivide) {
  EXPECT_NE(refusal([] {
              predicted_layout("tp=4,cp=4,cp_comm=a2a", 16);
            }).find("cp=4: must divide the 2 key-value heads of a GPU"),
            std::string::npos);
}

}  // namespace
}  // namespace forescale
