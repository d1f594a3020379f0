// Noise of messages, made up and measured.
#include "sim/engine/message_noise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/noise_text.hpp"
#include "base/scratch_folder.hpp"
#include "sim/ask/ask.hpp"
#include "sim/run/compute_noise.hpp"
#include "tests/base/refusal.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

Question noisy_message(const std::string& noise) {
  return {.about = Question::About::kCollective,
          .platform = "star:hosts=2,bandwidth=10GB/s,latency=1us",
          .stack = "ideal",
          .plan = "broadcast/binomial",
          .ranks = {2},
          .bytes = {1'000'000},
          .message_noise = noise};
}

double noisy_s(const Question& question) {
  Asker asker;
  return asker.ask({question}, {}).front().nominal.time_s();
}

TEST(MessageNoise, IsOnAllThatAMessageTakes) {
  const double quiet_s = noisy_s(noisy_message(""));
  EXPECT_DOUBLE_EQ(noisy_s(noisy_message("sigma=0")), quiet_s);
  for (const int seed : {1, 2, 3}) {
    const std::string text = "sigma=0.3,seed=" + std::to_string(seed);
    const double factor = parse_message_noise(text, "test").factor(0, 0);
    EXPECT_NEAR(noisy_s(noisy_message(text)), factor * quiet_s, 1e-9 * quiet_s) << seed;
  }
}

TEST(MessageNoise, HasAMedianOfOne) {
  const MessageNoise noise = parse_message_noise("sigma=0.3", "test");
  int above = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i)
    if (noise.factor(i % 4, static_cast<std::uint64_t>(i / 4)) > 1) ++above;
  EXPECT_NEAR(above / double{kDraws}, 0.5, 0.01);
}

std::string write_times(const ScratchFolder& folder, const std::string& text) {
  const std::string file = folder.path() + "/times.csv";
  std::ofstream(file) << text;
  return file;
}

TEST(MeasuredTimes, AreDrawnAsTheyWereMeasured) {
  const ScratchFolder folder("noise");
  const std::string file = write_times(
      folder, "time_us,rank\n10,0\n10,0\n10,0\n10,0\n10,0\n10,0\n10,0\n20,0\n40,1\r\n\n40,1\n");
  EXPECT_EQ(parse_noise_text("file=" + file, "test").times.size(), 10U);
  const MessageNoise messages = parse_message_noise("file=" + file, "test");
  // Over their median, 10; iterations over their mean, 17.
  const ComputeNoise kernels = parse_noise("file=" + file, "");
  EXPECT_TRUE(kernels.varies());
  std::vector<double> drawn;
  std::vector<double> of_iterations;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    drawn.push_back(messages.factor(0, i));
    of_iterations.push_back(kernels.factor(1, 7 * i, i));
    // One for all kernels of an iteration.
    EXPECT_EQ(kernels.factor(1, 7 * i + 3, i), of_iterations.back());
  }
  EXPECT_THAT(drawn, Each(::testing::AnyOf(1, 2, 4)));
  EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), 4)), 200, 60);
  double mean = 0;
  for (const double factor : of_iterations) mean += factor / 1000;
  EXPECT_NEAR(mean, 1, 0.1);
}

TEST(MeasuredTimes, BadFilesAreRefused) {
  const ScratchFolder folder("noise");
  const auto refused = [&](const std::string& text) {
    const std::string file = write_times(folder, text);
    return refusal([&] { parse_noise_text("file=" + file, "test"); });
  };
  EXPECT_THAT(refused("1\n2\n3\n"),
              HasSubstr("10 measured times at least, one a line; it holds 3"));
  EXPECT_THAT(refused("1\nfast\n"), AllOf(HasSubstr("times.csv:2"), HasSubstr("fast")));
  EXPECT_THAT(refused("1\n0\n"), HasSubstr("a number > 0"));
  EXPECT_THAT(refusal([] { parse_noise_text("file=/nowhere.csv", "test"); }),
              HasSubstr("/nowhere.csv"));
  EXPECT_THAT(refusal([] { parse_message_noise("sigma=0.1,file=x", "--message-noise"); }),
              HasSubstr("beside sigma"));
  EXPECT_THAT(refusal([] { parse_message_noise("sigma=2", "--message-noise"); }),
              HasSubstr("0 to 1"));
  EXPECT_THAT(refusal([] { parse_noise("file=x,sigma=0.1", ""); }), HasSubstr("beside sigma"));
}

TEST(MessageNoise, IsNotOfSegments) {
  Question staged = noisy_message("sigma=0.1");
  staged.explicit_staging = true;
  Asker asker;
  EXPECT_THAT(refusal([&] { asker.ask({staged}, {}); }), HasSubstr("--explicit-staging"));
}

TEST(MessageNoise, IsTheSimulatorsAlone) {
  Asker asker;
  EXPECT_THAT(refusal([&] {
                asker.ask({noisy_message("sigma=0.1")},
                          {.label = "", .engines = Engines::kCostEngine});
              }),
              HasSubstr("--message-noise"));
  const Answer both =
      asker.ask({noisy_message("sigma=0.1")}, {.label = "", .engines = Engines::kBoth})
          .front()
          .nominal;
  EXPECT_FALSE(both.collective.cost_engine_s.has_value());
}

}  // namespace
}  // namespace forescale::testing
