// Progress where there is no terminal: a line now and then, and none at the end.
#include "base/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace forescale {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TEST(ProgressLine, IsALineInALogAtTwiceTheTimeEach) {
  CaptureStderr();
  {
    ProgressLine progress("trying plans", 3, 0.001);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    progress.done(1);
    progress.done(2);  // sooner than twice as late
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    progress.done(3);  // nobody needs to be told
  }
  EXPECT_EQ(GetCapturedStderr(), "trying plans: 1 of 3, about 0 s left\n");
}

TEST(ProgressLine, SaysNothingOfWorkWithoutAName) {
  CaptureStderr();
  ProgressLine progress("", 3, 0);
  progress.done(1);
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST(ProgressLine, SaysNothingOfShortWork) {
  CaptureStderr();
  ProgressLine progress("trying plans", 3);
  progress.done(1);
  EXPECT_EQ(GetCapturedStderr(), "");
}

}  // namespace
}  // namespace forescale
