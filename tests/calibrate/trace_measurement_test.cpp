#include "calibrate/measure/trace_measurement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;

// alpha = 20 us, beta = 1 ns/byte, five calls a size that scatter by 2 %.
ImportedTrace sample() {
  ImportedTrace trace;
  trace.measured.gpu = "Tesla V100-SXM2-16GB";
  for (const std::int64_t bytes : {1'000, 10'000, 100'000, 1'000'000, 10'000'000})
    for (const double scatter : {0.98, 0.99, 1.0, 1.01, 1.02})
      trace.measured.calls.push_back({.op = CollectiveOp::kAllReduce,
                                      .bytes = bytes,
                                      .ranks = 8,
                                      .traced_ranks = 8,
                                      .time_s = scatter * (20e-6 + 1e-9 * double(bytes))});
  trace.measured.calls.push_back(
      {.op = CollectiveOp::kBroadcast, .bytes = 64, .ranks = 4, .traced_ranks = 1, .time_s = 1e-5});
  trace.measured.calls.push_back(
      {.op = CollectiveOp::kReduce, .bytes = 64, .ranks = 1, .traced_ranks = 1, .time_s = 1e-5});
  return trace;
}

TEST(TraceMeasurement, HoldsEachCollectiveBySize) {
  const Measurement measurement = trace_measurement(sample(), "t.json");
  EXPECT_EQ(measurement.machine, "Tesla V100-SXM2-16GB");
  ASSERT_EQ(measurement.series.size(), 2U);  // one rank alone is none
  const bool first = measurement.series[0].op == "all-reduce";
  const Series& all_reduce = measurement.series[first ? 0 : 1];
  EXPECT_EQ(all_reduce.pattern, Pattern::kCollective);
  EXPECT_EQ(all_reduce.ranks, 8);
  EXPECT_EQ(all_reduce.place, "gpu");
  ASSERT_EQ(all_reduce.points.size(), 5U);
  EXPECT_EQ(all_reduce.points[2].bytes, 100'000);
  EXPECT_NEAR(all_reduce.points[2].time_s, 120e-6, 1e-12);
  EXPECT_EQ(all_reduce.points[2].samples, 5);
  ASSERT_EQ(measurement.notes.size(), 2U);
  EXPECT_THAT(measurement.notes[1], HasSubstr("1 collectives with ranks that were not traced"));
}

TEST(TraceMeasurement, GivesAlphaAndBeta) {
  const Measurement measurement = trace_measurement(sample(), "t.json");
  for (const Series& series : measurement.series) {
    const std::vector<AlphaBeta> lines = alpha_beta_of(series);
    if (series.op != "all-reduce") {
      EXPECT_TRUE(lines.empty());  // one size
      continue;
    }
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NEAR(lines[0].alpha_s, 20e-6, 1e-6);
    EXPECT_NEAR(lines[0].beta_s_per_byte, 1e-9, 1e-11);
  }
}

// As calibrate reads it.
TEST(TraceMeasurement, IsAMeasurementLikeOthers) {
  const Measurement measurement = trace_measurement(sample(), "t.json");
  const Measurement again = read_measurement_text(to_json(measurement).dump(), "m.json");
  EXPECT_EQ(again.series.size(), measurement.series.size());
  EXPECT_EQ(again.provenance.at("trace"), "t.json");
}

TEST(TraceMeasurement, RefusesATraceWithoutTimes) {
  try {
    trace_measurement({}, "t.goal");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("has no times of collectives"));
  }
}

}  // namespace
}  // namespace forescale
