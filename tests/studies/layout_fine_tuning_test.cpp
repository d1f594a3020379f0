// Fine-tuning on layouts: adapters (LoRA) beside frozen weights, and texts packed into sequences.
#include <gtest/gtest.h>

#include "studies/layout/layout_prediction.hpp"
#include "tests/base/refusal.hpp"
#include "tests/studies/layout_asking.hpp"

namespace forescale {
namespace {

using testing::memory_of;
using testing::predict;
using testing::predicted;
using testing::question_of;
using testing::refusal;
using testing::sum_of_parts;

// All of attention and feed-forward of Llama 2 7B.
TEST(LayoutFineTuning, AdaptersLearnInPlaceOfTheWeights) {
  constexpr std::int64_t kAdapters =
      32LL * 8 * ((4096 + 3 * 4096) + 2 * 4096 + (4096 + 2 * 11008) + (11008 + 4096));
  constexpr std::int64_t kWeights = 6'738'415'616;
  const LayoutPrediction all = predict("global=8", 1);
  const LayoutPrediction adapted = predict("global=8,lora=8", 1);
  EXPECT_EQ(adapted.parameters, kWeights + kAdapters);
  EXPECT_EQ(memory_of(adapted, "parameters"), 2 * (kWeights + kAdapters));
  EXPECT_EQ(memory_of(adapted, "gradients"), 4 * kAdapters);
  EXPECT_EQ(memory_of(adapted, "optimizer"), 12 * kAdapters);
  EXPECT_LT(memory_of(adapted, "gradient buffers"), memory_of(all, "gradient buffers") / 50);
  // Two of three products, but narrow ones and sums that wait for the memory.
  EXPECT_GT(adapted.compute_s, 0.65 * all.compute_s);
  EXPECT_LT(adapted.compute_s, 0.95 * all.compute_s);
  EXPECT_LT(predict("global=8,lora=8,lora_targets=linear_qkv", 1).compute_s, 0.8 * all.compute_s);
  EXPECT_LT(adapted.optimizer_s, all.optimizer_s / 100);
  EXPECT_LT(adapted.model_flops_share(), 1);
  // What all copies share, frozen weights too.
  const LayoutPrediction shared = predict("zero=parameters,global=8,lora=8", 8);
  EXPECT_NEAR(static_cast<double>(memory_of(shared, "parameters")),
              2.0 * (kWeights + kAdapters) / 8, 1);
  EXPECT_EQ(memory_of(predict("zero=optimizer,global=8,lora=8", 8), "parameters"),
            2 * (kWeights + kAdapters));
  Question quantised = question_of("global=8,lora=8,lora_weights=fp8");
  quantised.precision = Precision::kFp8;
  constexpr std::int64_t kInBf16 =
      2LL * 32000 * 4096 + 65 * 4096 + kAdapters;  // no products within
  EXPECT_EQ(memory_of(predicted(quantised, 1), "parameters"), kWeights + kAdapters + kInBf16);
  // As FSDP shards gradients, frozen weights come with the others.
  Question fsdp = question_of("zero=gradients,global=8,lora=8");
  fsdp.framework = Framework::kPyTorch;
  EXPECT_GT(predicted(fsdp, 8).data_s, 20 * predict("zero=gradients,global=8,lora=8", 8).data_s);
  // Stages and tensor groups have the adapters of their products.
  for (const char* layout : {"pp=4,global=8,lora=8", "tp=4,global=8,lora=8",
                             "tp=2,pp=2,vpp=2,tp_overlap=true,global=8,lora=8,recompute=full",
                             "pp=4,global=8,lora=8,schedule=zb-h1", "cp=2,tp=2,global=8,lora=8"}) {
    const LayoutPrediction spread = predict(layout, 4);
    EXPECT_NEAR(sum_of_parts(spread), spread.iteration_s, 1e-12) << layout;
    EXPECT_LT(spread.iteration_s, adapted.iteration_s) << layout;
  }
}

// The words' scores of a model whose embedding they share learn no more than the embedding.
TEST(LayoutFineTuning, AdaptersFreezeATiedHead) {
  const LayoutPrediction all = predict("global=8", 1, "llama-3.2-1b");
  const LayoutPrediction adapted =
      predict("global=8,lora=8,lora_targets=linear_qkv", 1, "llama-3.2-1b");
  EXPECT_LT(memory_of(adapted, "gradient buffers"), memory_of(all, "gradient buffers") / 100);
  const double share = adapted.model_flops_share() * adapted.iteration_s /
                       (all.model_flops_share() * all.iteration_s);
  EXPECT_GT(share, 2.0 / 3);  // attention's own
  EXPECT_LT(share, 0.7);
}

// Megatron's and NeMo's adapters are products of their own: BF16 ones, in one piece.
TEST(LayoutFineTuning, AdaptersAreNotQuantised) {
  const auto compute_s = [](const std::string& layout, Precision precision) {
    Question question = question_of("tp=8,micro=1,global=16," + layout, "llama-3-70b");
    question.sequence = 4096;
    question.precision = precision;
    return predicted(question, 8).compute_s;
  };
  // All four products' adapters over one product's.
  const auto added = [&](const std::string& layout, Precision precision) {
    return compute_s(layout, precision) -
           compute_s(layout + ",lora_targets=linear_proj", precision);
  };
  // What adapters take is the same in both: their share of the pass, not FP8's casts.
  EXPECT_LT(added("lora=8", Precision::kFp8), 1.3 * added("lora=8", Precision::kBf16));
  EXPECT_LT(added("lora=8,tp_overlap=true", Precision::kFp8),
            1.3 * added("lora=8", Precision::kFp8));
}

// Attention over 16 texts of 64 words instead of one of 1,024: a sixteenth of its FLOP.
TEST(LayoutFineTuning, PackedTextsAttendToThemselves) {
  const LayoutPrediction one = predict("global=8", 1);
  const LayoutPrediction packed = predict("global=8,packed=16", 1);
  const double attention = 3 * 32 * 2.0 * 1024 * 1024 * 4096 * 8;  // Llama 2 7B's, all passes
  const auto flops = [](const LayoutPrediction& each) {
    return each.model_flops_share() * each.iteration_s * each.peak_flops_per_s;
  };
  EXPECT_NEAR(flops(one) - flops(packed), attention * 15 / 16, 1e-9 * attention);
  EXPECT_LT(packed.compute_s, one.compute_s);
  EXPECT_GT(packed.compute_s, 0.8 * one.compute_s);
  EXPECT_EQ(memory_of(packed, "activations"), memory_of(one, "activations"));
}

TEST(LayoutFineTuning, PackedTextsThatDoNotFitAreRefused) {
  const auto refused = [](const std::string& layout) {
    return refusal([&] { predict(layout, 8); });
  };
  EXPECT_NE(refused("packed=3").find("must divide the sequences of 1024 tokens"),
            std::string::npos);
  EXPECT_NE(refused("packed=2,cp=2").find("is not known with cp=2"), std::string::npos);
  EXPECT_NE(refused("packed=2,attention=unfused").find("needs flash attention"), std::string::npos);
}

TEST(LayoutFineTuning, AdaptersMistakesAreRefused) {
  const auto refused = [](const std::string& layout, const std::string& model = "llama-2-7b") {
    return refusal([&] { predict(layout, 8, model); });
  };
  EXPECT_NE(refused("lora=8,lora_targets=linear_qvk").find("linear_qkv"), std::string::npos);
  EXPECT_NE(refused("lora=8,lora_targets=").find("lora_targets: is empty"), std::string::npos);
  EXPECT_NE(refused("lora_targets=linear_qkv").find("needs lora="), std::string::npos);
  EXPECT_NE(refused("lora=8,lora_weights=fp8").find("needs --precision fp8"), std::string::npos);
  EXPECT_NE(refused("lora=8", "mixtral-8x7b").find("without experts"), std::string::npos);
  EXPECT_NE(refused("lora=8", "mixtral-8x7b").find("--layout"), std::string::npos);
  EXPECT_NE(refused("lora=4096").find("must be below the hidden size"), std::string::npos);
  EXPECT_NE(refused("lora=0").find("must be an integer from 1"), std::string::npos);
}

}  // namespace
}  // namespace forescale
