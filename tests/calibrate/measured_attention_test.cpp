// What frameworks add to a transformer's kernels, and what it was measured to be.
#include "models/compute/transformer_framework.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "calibrate/measure/measurement.hpp"
#include "tests/base/refusal.hpp"

namespace forescale::testing {
namespace {

TransformerFramework on(Framework framework, const std::string& gpu) {
  return transformer_framework(framework, LayerCode::kCompiled, gpu, "--framework", nullptr);
}

// Both passes of FlashAttention-2 over cuDNN's, causal, 8,192 tokens in sequences of 4,096, heads
// of 128, as they were measured on H100.
TEST(TransformerFramework, AttentionOfOlderReleasesIsAsMeasured) {
  const Measurement measured =
      read_measurement(FORESCALE_SOURCE_DIR "/calibrate/measured_gpus/h100-pytorch.json");
  std::map<std::string, double> both_passes_s;
  int shapes = 0;
  for (const MeasuredKernel& each : measured.kernels) {
    const auto* shape = std::get_if<AttentionShape>(&each.kernel.shape);
    if (shape == nullptr || shape->sequence != 4096 || shape->head_size != 128) continue;
    both_passes_s[each.algorithm] += each.time_s;
    ++shapes;
  }
  ASSERT_EQ(shapes, 5 * 2 * 2);
  const double ratio = both_passes_s.at("flash") / both_passes_s.at("cudnn");
  for (const Framework framework : {Framework::kNanotron, Framework::kPyTorchTo210})
    EXPECT_NEAR(on(framework, "h100").attention, ratio, 0.03) << to_text(framework);
}

TEST(TransformerFramework, RunsEagerlyWhereItIsMeasured) {
  const TransformerFramework compiled = on(Framework::kPyTorchTo210, "h100");
  const TransformerFramework eager = transformer_framework(
      Framework::kPyTorchTo210, LayerCode::kEager, "h100", "--framework", nullptr);
  EXPECT_GT(eager.others, compiled.others);
  EXPECT_EQ(eager.kernels, compiled.kernels);
  EXPECT_EQ(eager.attention, compiled.attention);
  EXPECT_THAT(refusal([] {
                transformer_framework(Framework::kMegatron, LayerCode::kEager, "h100",
                                      "--framework", nullptr);
              }),
              ::testing::HasSubstr("is not known to run eagerly (compile=false of --layout)"));
}

TEST(TransformerFramework, ALaterReleaseDiffersInAttentionAndWhatIsFused) {
  const TransformerFramework now = on(Framework::kPyTorch, "h100");
  const TransformerFramework before = on(Framework::kPyTorchTo210, "h100");
  EXPECT_EQ(now.attention, 1);
  EXPECT_GT(before.attention, 1.5);
  EXPECT_EQ(before.kernels, now.kernels);
  EXPECT_EQ(before.kernels_fp8, now.kernels_fp8);
  EXPECT_EQ(before.memory, now.memory);
  EXPECT_EQ(before.score_bytes, now.score_bytes);
  // Of GPUs whose attention is FlashAttention-2 in the GPU model too.
  EXPECT_EQ(on(Framework::kPyTorchTo210, "a100").attention, 1);
  EXPECT_EQ(read_framework("pytorch-2.10", "--framework"), Framework::kPyTorchTo210);
}

TEST(TransformerFramework, OthersHaveNoTransformers) {
  EXPECT_THAT(refusal([] { on(Framework::kCaffe, "h100"); }),
              ::testing::HasSubstr("has no transformers: "));
}

}  // namespace
}  // namespace forescale::testing
