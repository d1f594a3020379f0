// Kernels of an emulated GPU end when those of the simulator's do.
#include "calibrate/measure/emulated_gpu.hpp"

#include <gtest/gtest.h>

#include <string>

namespace forescale {
namespace {

class EmulatedGpuTest : public ::testing::Test {
 protected:
  void launch(double now_s, int stream, double duration_s, const std::string& name) {
    gpu_.launch(
        now_s, {.stream = stream, .duration_s = duration_s, .phase = Phase::kBackward, .label = ""},
        [this, name] { ended_.emplace_back(name, changed_s_); });
  }
  double end_of(const std::string& name) const {
    for (const auto& [ended, at_s] : ended_)
      if (ended == name) return at_s;
    return -1;
  }

  double changed_s_ = 0;
  int running_ = 0;
  std::vector<std::pair<std::string, double>> ended_;
  EmulatedGpu gpu_{[this](double at_s, Phase phase, int change) {
    EXPECT_GE(at_s, changed_s_);
    EXPECT_EQ(phase, Phase::kBackward);
    changed_s_ = at_s;
    running_ += change;
  }};
};

TEST_F(EmulatedGpuTest, RunsAStreamInOrder) {
  launch(1, 0, 2, "a");
  launch(1.5, 0, 3, "b");
  EXPECT_EQ(gpu_.next_end_s(), 3);
  gpu_.advance(2.9);
  EXPECT_TRUE(ended_.empty());
  gpu_.advance(10);
  EXPECT_DOUBLE_EQ(end_of("a"), 3);
  EXPECT_DOUBLE_EQ(end_of("b"), 6);
  EXPECT_EQ(running_, 0);
  EXPECT_EQ(gpu_.next_end_s(), std::nullopt);
}

// From 0 both at half speed: the short one has done its 2 at 4, when the long one has 1 left.
TEST_F(EmulatedGpuTest, SharesItselfEvenlyAmongStreams) {
  launch(0, 0, 2, "short");
  launch(0, 1, 3, "long");
  EXPECT_EQ(gpu_.next_end_s(), 4);
  gpu_.advance(20);
  EXPECT_DOUBLE_EQ(end_of("short"), 4);
  EXPECT_DOUBLE_EQ(end_of("long"), 5);
}

// Alone until 1, half speed until the second is through at 5, alone again.
TEST_F(EmulatedGpuTest, SharesWithOnesThatComeLater) {
  launch(0, 0, 4, "first");
  gpu_.advance(1);
  launch(1, 1, 2, "second");
  gpu_.advance(20);
  EXPECT_DOUBLE_EQ(end_of("second"), 5);
  EXPECT_DOUBLE_EQ(end_of("first"), 6);
}

TEST_F(EmulatedGpuTest, EndsKernelsWithoutDurationAtOnce) {
  launch(2, 0, 0, "a");
  launch(2, 0, 0, "b");
  gpu_.advance(2);
  EXPECT_DOUBLE_EQ(end_of("b"), 2);
  EXPECT_TRUE(gpu_.is_idle());
}

// Pieces of 0.4: a kernel of 1 ends after two of them (0.8) or three (1.2), whichever is nearer,
// and what was done too much or too little counts for the next: four kernels of 1 take ten.
TEST_F(EmulatedGpuTest, IsDrivenByWorkInPieces) {
  for (const char* name : {"a", "b", "c", "d"}) launch(0, 0, 1, name);
  int pieces = 0;
  while (!gpu_.is_idle()) gpu_.work(++pieces, 0, 0.4);
  EXPECT_EQ(pieces, 10);
  EXPECT_EQ(ended_.size(), 4u);
}

}  // namespace
}  // namespace forescale
