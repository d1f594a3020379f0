// A profile of one GPU as its throughput.
#include "sim/ask/traced_throughput.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/ask/question.hpp"
#include "tests/base/refusal.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale::testing {
namespace {

using ::testing::HasSubstr;

const std::string kTraces = FORESCALE_SOURCE_DIR "/tests/traces/data/kineto/";
// A step of ResNet-50 with 256 images on one H100, 65.1 ms long.
const std::string kStep = kTraces + "h100_resnet_50.json.gz";

std::string refused(const std::string& text) {
  return refusal([&] { traced_throughput(text, "--throughput"); });
}

TEST(TracedThroughput, IsTheBatchOverTheTracesIteration) {
  const double step_s = import_trace({kStep}, {}).measured.step_s;
  EXPECT_NEAR(step_s, 65.1e-3, 0.1e-3);
  const auto text = traced_throughput(kStep + "@256:3%", "--throughput");
  ASSERT_TRUE(text.has_value());
  const MeasuredThroughput read = parse_throughput(*text, "--throughput");
  ASSERT_EQ(read.points.size(), 1U);
  EXPECT_EQ(read.points[0].batch, 256);
  EXPECT_NEAR(read.points[0].images_per_s, 256 / step_s, 1e-5 * 256 / step_s);
  EXPECT_DOUBLE_EQ(read.spread, 0.03);
  EXPECT_EQ(traced_throughput(kStep + "@256", "--throughput")->find(':'), std::string::npos);
}

TEST(TracedThroughput, IsNothingOfWhatNamesNoTrace) {
  EXPECT_EQ(traced_throughput("2500images/s@256", "--throughput"), std::nullopt);
  EXPECT_EQ(traced_throughput("mine.csv", "--throughput"), std::nullopt);
}

TEST(TracedThroughput, RefusesWhatItCannotBe) {
  EXPECT_THAT(refused(kStep), HasSubstr("needs the batch of the trace's iteration"));
  EXPECT_THAT(refused(kStep + "@0"), HasSubstr("must have a batch >= 1"));
  EXPECT_THAT(refused(kTraces + "mi300x_resnet.json.gz@256"),
              HasSubstr("is of 8 ranks, whose waiting for each other is in it"));
  EXPECT_THAT(refused(kTraces + "none.json@256"), HasSubstr("none.json"));
}

// What is predicted for that GPU is the trace's iteration; the question keeps the number.
TEST(TracedThroughput, BecomesTheQuestionsNumber) {
  Question question;
  question_field("throughput").parse(question, kStep + "@256", "--throughput");
  ASSERT_TRUE(question.throughput.has_value());
  EXPECT_NEAR(question.throughput->points[0].images_per_s, 3931, 5);
}

}  // namespace
}  // namespace forescale::testing
