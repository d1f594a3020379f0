#include "calibrate/fit/loggp_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.hpp"

namespace forescale {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kLatency_s = 30e-6;
constexpr double kOverhead_s = 5e-6;
constexpr double kGap_s = 8e-6;
constexpr double kGap_s_per_byte = 1 / 1e9;

std::vector<MeasuredPoint> timed(const std::function<double(double)>& time_s) {
  std::vector<MeasuredPoint> points;
  for (std::int64_t bytes = 1; bytes <= 4 << 20; bytes *= 2)
    points.push_back({.bytes = bytes, .time_s = time_s(static_cast<double>(bytes))});
  return points;
}

LogGPPoints exact() {
  return {.ping_pong = timed(
              [](double bytes) { return kLatency_s + 2 * kOverhead_s + kGap_s_per_byte * bytes; }),
          .stream = timed([](double bytes) { return kGap_s + kGap_s_per_byte * bytes; })};
}

TEST(LogGP, OverheadIsAnIntervalWithoutTheSendersTime) {
  const LogGP fit = fit_loggp(exact(), "m.json");
  EXPECT_NEAR(fit.gap_s, kGap_s, 1e-9 * kGap_s);
  EXPECT_NEAR(fit.gap_s_per_byte, kGap_s_per_byte, 1e-9 * kGap_s_per_byte);
  EXPECT_FALSE(fit.overhead_measured);
  // min(g = 8 us, (30 + 2 * 5) us / 2 = 20 us)
  EXPECT_EQ(fit.overhead_interval_s.low, 0);
  EXPECT_NEAR(fit.overhead_interval_s.high, 8e-6, 1e-9 * 8e-6);
  // L + 2 o = 40 us in any case; L = 40 - 2 * 8 .. 40 us.
  EXPECT_NEAR(fit.latency_s + 2 * fit.overhead_s, 40e-6, 1e-9 * 40e-6);
  EXPECT_NEAR(fit.latency_interval_s.low, 24e-6, 1e-7 * 24e-6);
  EXPECT_NEAR(fit.latency_interval_s.high, 40e-6, 1e-7 * 40e-6);
  EXPECT_THAT(fit.warnings, IsEmpty());
}

TEST(LogGP, SendersTimeGivesTheOverhead) {
  LogGPPoints points = exact();
  // Buffered up to 4 KiB; above, the sender waits for the receive, 1 ms later.
  points.late_receive = timed([](double bytes) {
    return bytes <= 4096 ? kOverhead_s + 0.2e-9 * bytes : 1e-3 + kGap_s_per_byte * bytes;
  });
  const LogGP fit = fit_loggp(points, "m.json");
  EXPECT_TRUE(fit.overhead_measured);
  EXPECT_NEAR(fit.overhead_s, kOverhead_s, 1e-9 * kOverhead_s);
  EXPECT_NEAR(fit.latency_s, kLatency_s, 1e-9 * kLatency_s);
}

TEST(LogGP, ContradictionsAreSaid) {
  LogGPPoints points = exact();
  points.late_receive = timed([](double) { return 25e-6; });  // 2 * 25 us > 40 us
  LogGP fit = fit_loggp(points, "m.json");
  EXPECT_FALSE(fit.overhead_measured);
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("a send takes 2.5e-05 s, more than the gap")));
  points = exact();
  for (MeasuredPoint& point : points.stream)
    point.time_s = kGap_s + 2 * kGap_s_per_byte * static_cast<double>(point.bytes);
  fit = fit_loggp(points, "m.json");
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("1e-09 s/byte in the ping-pong and 2e-09")));
}

TEST(LogGP, RefusalNamesThePattern) {
  LogGPPoints points = exact();
  points.stream.resize(2);
  try {
    fit_loggp(points, "m.json");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("m.json: stream:/points = 2 sizes"));
  }
}

}  // namespace
}  // namespace forescale
