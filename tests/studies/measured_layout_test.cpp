// Predictions that start from an iteration that was measured.
#include "studies/layout/measured_layout.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;

Question trained_by(const std::string& layout) {
  Question question;
  question.platform = "dgx-h100:nodes=2";
  question.model = "llama-3.2-1b";
  question.sequence = 2048;
  question.layout = layout;
  return question;
}

double iteration_of(const Question& question, std::int64_t gpus) {
  Asker asker;
  return predict_layouts({{.question = question, .gpus = gpus}}, asker).front().iteration_s;
}

double scale_of(const std::string& text, const Question& question) {
  Asker asker;
  return kernel_scale(parse_measured_layout(text, question.layout), question, asker);
}

TEST(MeasuredLayout, IsATimeGpusAndFieldsOfTheLayout) {
  const MeasuredLayout same = parse_measured_layout("6.7s@8", "tp=2,micro=1");
  EXPECT_DOUBLE_EQ(same.iteration_s, 6.7);
  EXPECT_EQ(same.gpus, 8);
  EXPECT_EQ(same.layout, "tp=2,micro=1");
  // Fields that are given take the place of the asked ones, whatever their names.
  const MeasuredLayout other = parse_measured_layout(
      "670ms@4:tp=1,global=8", "tensor-model-parallel-size=2,micro=1,global=64");
  EXPECT_DOUBLE_EQ(other.iteration_s, 0.67);
  EXPECT_EQ(parse_layout(other.layout, "test"), parse_layout("micro=1,tp=1,global=8", "test"));
}

// Kernels that take 1.3 times as long, as what was measured: the factor is found again, and other
// counts are predicted as with it.
TEST(MeasuredLayout, FindsTheKernelsThatWereMeasured) {
  Question question = trained_by("micro=1,global=16,zero=optimizer");
  Question slow = question;
  slow.compute_scale = 1.3;
  const double measured_s = iteration_of(slow, 8);
  EXPECT_GT(measured_s, 1.05 * iteration_of(question, 8));
  question.compute_scale = scale_of(fmt::format("{:.12g}s@8", measured_s), question);
  EXPECT_NEAR(question.compute_scale, 1.3, 1e-4);
  EXPECT_NEAR(iteration_of(question, 8), measured_s, 2e-6 * measured_s);
  EXPECT_NEAR(iteration_of(question, 16), iteration_of(slow, 16), 1e-4 * iteration_of(slow, 16));
}

// On another layout than the asked one.
TEST(MeasuredLayout, MayHaveAnotherLayout) {
  const Question question = trained_by("tp=2,micro=1,global=16,zero=optimizer");
  Question fast = trained_by("tp=1,micro=1,global=8,zero=optimizer");
  fast.compute_scale = 0.8;
  EXPECT_NEAR(scale_of(fmt::format("{:.12g}s@8:tp=1,global=8", iteration_of(fast, 8)), question),
              0.8, 1e-4);
}

TEST(MeasuredLayout, RefusesWhatItCannotStartFrom) {
  const Question question = trained_by("micro=1,global=16");
  const auto refused = [&](const std::string& text) {
    return refusal([&] { scale_of(text, question); });
  };
  EXPECT_THAT(refused("6.7s"), HasSubstr("must be TIME@GPUS"));
  EXPECT_THAT(refused("6.7@8"), HasSubstr("--measured"));
  EXPECT_THAT(refused("0s@8"), HasSubstr("must have a time above 0"));
  EXPECT_THAT(refused("6.7s@0"), HasSubstr("must have a GPU"));
  EXPECT_THAT(refused("100s@8"), HasSubstr("is not what this training takes on 8 GPUs"));
  EXPECT_THAT(refused("1us@8"), HasSubstr("is not what this training takes on 8 GPUs"));
  EXPECT_THAT(refused("6.7s@8:tq=2"), HasSubstr("tq"));
  EXPECT_THAT(refused("6.7s@8:micro=16,global=2048"), HasSubstr("not to fit in memory"));
}

TEST(MeasuredLayout, CopiesAreWhatMayDiffer) {
  const auto layout = [](const char* text, std::int64_t gpus) {
    return resolved(parse_layout(text, "test"), gpus, "test");
  };
  EXPECT_TRUE(differ_in_copies_alone(layout("tp=2,micro=1,global=8", 8),
                                     layout("tp=2,micro=1,global=64", 16)));
  EXPECT_FALSE(differ_in_copies_alone(layout("tp=2,micro=1,global=8", 8),
                                      layout("tp=4,micro=1,global=8", 8)));
}

// Its interval is of what such predictions were off by, narrower than without.
TEST(MeasuredLayout, NarrowsTheInterval) {
  const Question question = trained_by("micro=1,global=16,zero=optimizer");
  Asker asker;
  const auto width = [&](bool is_measured) {
    const TimeRange range =
        *predict_layout_ranges({{.question = question, .gpus = 16, .is_measured = is_measured}},
                               asker)
             .front()
             .iteration;
    return (range.high_s - range.low_s) / range.time_s;
  };
  EXPECT_LT(width(true), width(false));
}

}  // namespace
}  // namespace forescale
