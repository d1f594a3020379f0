// What failures leave of the time: against the process itself, played many times.
#include "models/failures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;

// Mean wall-clock time of one stretch of work with its checkpoint, and its standard error.
struct Played {
  double mean_s = 0;
  double error_s = 0;
};

Played play(double mtbf_s, double every_s, double checkpoint_s, double restart_s) {
  constexpr int kStretches = 200'000;
  std::mt19937_64 random(7);
  std::exponential_distribution<double> next_failure(1 / mtbf_s);
  double sum_s = 0;
  double sum_of_squares = 0;
  for (int i = 0; i < kStretches; ++i) {
    double wall_s = 0;
    for (double needed_s = every_s + checkpoint_s;;) {
      const double fails_s = next_failure(random);
      if (fails_s >= needed_s) {
        wall_s += needed_s;
        break;
      }
      wall_s += fails_s;
      // The restart starts anew where it fails itself.
      for (double again_s = next_failure(random); again_s < restart_s;
           again_s = next_failure(random))
        wall_s += again_s;
      wall_s += restart_s;
    }
    sum_s += wall_s;
    sum_of_squares += wall_s * wall_s;
  }
  const double mean_s = sum_s / kStretches;
  return {.mean_s = mean_s,
          .error_s = std::sqrt((sum_of_squares / kStretches - mean_s * mean_s) / kStretches)};
}

TEST(Failures, GoodputIsThatOfTheProcessPlayed) {
  for (const double restart_s : {0.0, 600.0})
    for (const double every_s : {600.0, 3600.0}) {
      const Failures failures{
          .node_mtbf = {80'000}, .checkpoint = {60}, .restart = {restart_s}, .every = {{every_s}}};
      const Goodput goodput = goodput_of(failures, 8);
      EXPECT_DOUBLE_EQ(goodput.mtbf.value, 10'000);
      EXPECT_DOUBLE_EQ(goodput.every.value, every_s);
      const Played played = play(10'000, every_s, 60, restart_s);
      EXPECT_NEAR(every_s / goodput.share, played.mean_s, 5 * played.error_s)
          << every_s << " " << restart_s;
    }
}

TEST(Failures, TheBestIntervalIsBetterThanItsNeighbours) {
  Failures failures{.node_mtbf = {1e6}, .checkpoint = {60}, .restart = {300}};
  const Goodput best = goodput_of(failures, 100);
  for (const double factor : {0.9, 0.99, 1.01, 1.1}) {
    failures.every = Seconds{factor * best.every.value};
    EXPECT_LT(goodput_of(failures, 100).share, best.share) << factor;
  }
  // Young's first order (CACM 17, 1974): sqrt(2 checkpoint MTBF), less the checkpoint in Daly's.
  EXPECT_NEAR(best.every.value, std::sqrt(2 * 60 * 1e4) - 60, 0.01 * best.every.value + 60);
}

// Llama 3 (arXiv:2407.21783, section 3.3.4): 419 unexpected interruptions in 54 days on 16,384
// H100, 2,048 nodes: one every 3.09 hours, 6,334 hours a node.
TEST(Failures, MoreNodesFailMoreOften) {
  const Failures failures = parse_failures("mtbf=6334h,checkpoint=60s,restart=10min", "test");
  EXPECT_NEAR(goodput_of(failures, 2048).mtbf.value / 3600, 54 * 24 / 419.0, 0.01);
  EXPECT_LT(goodput_of(failures, 2048).share, goodput_of(failures, 1024).share);
  EXPECT_GT(goodput_of(failures, 1).share, 0.997);
}

TEST(Failures, BadTextNamesTheKey) {
  const auto said = [](const std::string& text) {
    return refusal([&] { parse_failures(text, "--failures"); });
  };
  EXPECT_EQ(said("mtbf=7days,checkpoint=1min,restart=0s,every=1h"), "accepted");
  EXPECT_THAT(said("checkpoint=1min,restart=1s"), HasSubstr("failures:mtbf: is required"));
  EXPECT_THAT(said("mtbf=7days,restart=1s"), HasSubstr("failures:checkpoint: is required"));
  EXPECT_THAT(said("mtbf=0h,checkpoint=1s,restart=1s"), HasSubstr("must be > 0"));
  EXPECT_THAT(said("mtbf=5,checkpoint=1s,restart=1s"), HasSubstr("needs a unit"));
  EXPECT_THAT(said("mtbf=5h,checkpoint=1s,restart=1s,evry=1h"), HasSubstr("evry"));
}

}  // namespace
}  // namespace forescale
