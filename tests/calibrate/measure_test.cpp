// Microbenchmarks: what is asked for, and a small real run over loopback.
#include "calibrate/measure/measure.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "calibrate/measure/mpi_launch.hpp"

namespace forescale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Series> series_of(const std::vector<Series>& all, Pattern pattern) {
  std::vector<Series> some;
  for (const Series& series : all)
    if (series.pattern == pattern) some.push_back(series);
  return some;
}

std::vector<std::int64_t> sizes_of(const Series& series) {
  std::vector<std::int64_t> sizes;
  for (const MeasuredPoint& point : series.points) sizes.push_back(point.bytes);
  return sizes;
}

std::vector<int> ranks_of(const std::vector<Series>& all, Pattern pattern) {
  std::vector<int> ranks;
  for (const Series& series : series_of(all, pattern)) ranks.push_back(series.ranks);
  return ranks;
}

TEST(SeriesToMeasure, EightRanks) {
  const std::vector<Series> all = series_to_measure({.ranks = 8});
  const std::vector<Series> ping_pongs = series_of(all, Pattern::kPingPong);
  ASSERT_EQ(ping_pongs.size(), 8U * 7 / 2);  // each pair once
  // 2^0 to 2^26, and four in between.
  EXPECT_THAT(ping_pongs.front().members, ElementsAre(0, 1));
  EXPECT_EQ(ping_pongs.front().points.size(), 27U + 4);
  EXPECT_EQ(ping_pongs.front().points.front().bytes, 1);
  EXPECT_EQ(ping_pongs.front().points.back().bytes, 64 << 20);
  for (std::size_t i = 1; i < ping_pongs.size(); ++i)
    EXPECT_THAT(sizes_of(ping_pongs[i]), ElementsAre(8 << 10, 1 << 20));

  EXPECT_THAT(ranks_of(all, Pattern::kShift), ElementsAre(2, 4, 8));
  EXPECT_THAT(ranks_of(all, Pattern::kExchange), ElementsAre(2, 8));
  EXPECT_THAT(ranks_of(all, Pattern::kFanIn), ElementsAre(1 + 2, 1 + 4, 1 + 7));
  EXPECT_THAT(ranks_of(all, Pattern::kFanOut), ElementsAre(1 + 2, 1 + 4, 1 + 7));
  EXPECT_THAT(ranks_of(all, Pattern::kPairs), ElementsAre(2 * 1, 2 * 2, 2 * 4));
  EXPECT_TRUE(series_of(all, Pattern::kCollective).empty());
  // From the first four ranks to the last four: all of them through a trunk in the middle.
  EXPECT_THAT(series_of(all, Pattern::kPairs)[1].members, ElementsAre(0, 1, 4, 5));
}

TEST(SeriesToMeasure, OddAndFewRanks) {
  const std::vector<Series> five = series_to_measure({.ranks = 5});
  EXPECT_THAT(ranks_of(five, Pattern::kShift), ElementsAre(2, 4, 5));
  EXPECT_THAT(ranks_of(five, Pattern::kExchange), ElementsAre(2, 4));
  EXPECT_THAT(ranks_of(five, Pattern::kFanIn), ElementsAre(1 + 2, 1 + 4));
  EXPECT_THAT(series_of(five, Pattern::kPairs)[1].members, ElementsAre(0, 1, 3, 4));

  const std::vector<Series> one = series_to_measure({.ranks = 1});
  for (const Series& series : one) EXPECT_EQ(series.ranks, 1) << name_of(series.pattern);
  EXPECT_THAT(ranks_of(series_to_measure({.ranks = 2}), Pattern::kFanIn), ElementsAre());
}

TEST(SeriesToMeasure, ManyRanksAreSpanned) {
  const int ranks = 64;
  const std::vector<Series> pairs =
      series_of(series_to_measure({.ranks = ranks}), Pattern::kPingPong);
  // Each with the first, and with the one before it where that is not the first.
  EXPECT_EQ(static_cast<int>(pairs.size()), (ranks - 1) + (ranks - 2));
}

TEST(SeriesToMeasure, HasWhatWasAskedForOnly) {
  const std::vector<Series> all =
      series_to_measure({.ranks = 4,
                         .bytes_max = 32 << 10,
                         .patterns = {Pattern::kShift, Pattern::kStream},
                         .library_collectives = true});
  for (const Series& series : all) {
    EXPECT_LE(series.points.back().bytes, 32 << 10);
    EXPECT_TRUE(std::is_sorted(
        series.points.begin(), series.points.end(),
        [](const MeasuredPoint& a, const MeasuredPoint& b) { return a.bytes < b.bytes; }));
  }
  EXPECT_EQ(series_of(all, Pattern::kShift).size(), 2U);
  EXPECT_EQ(series_of(all, Pattern::kStream).size(), 1U);
  EXPECT_EQ(series_of(all, Pattern::kCollective).size(), 3U * 2);
  EXPECT_EQ(all.size(), 2U + 1 + 3 * 2);
}

TEST(SeriesToMeasure, RefusesNonsense) {
  const auto option_of = [](const MeasureOptions& options) -> std::string {
    try {
      series_to_measure(options);
    } catch (const InputError& error) {
      return error.parts().source;
    }
    return "";
  };
  EXPECT_EQ(option_of({.ranks = 0}), "--ranks");
  EXPECT_EQ(option_of({.budget_s = 0}), "--budget");
  EXPECT_EQ(option_of({.bytes_max = 0}), "--max-bytes");
  EXPECT_EQ(option_of({.bytes_max = std::int64_t{2} << 30}), "--max-bytes");
  EXPECT_EQ(option_of({.ranks = 1, .patterns = {Pattern::kShift}}), "--patterns");
}

class MeasureAlone : public ::testing::TestWithParam<const char*> {
 protected:
  // Launcher and program; empty after a skip.
  std::vector<std::string> command(int ranks) {
    try {
      std::vector<std::string> words = loopback_command(GetParam(), ranks);
      words.push_back(mpi_program(GetParam(), FORESCALE_PROGRAM));
      return words;
    } catch (const InputError& error) {
      reason_ = error.what();
      return {};
    }
  }
  std::string reason_;
};

// The first series that lacks a size, and that size; empty when none does.
std::string lacking(const Measurement& measurement, const MeasureOptions& options) {
  std::map<std::pair<Pattern, std::vector<int>>, std::vector<std::int64_t>> measured;
  for (const Series& series : measurement.series)
    measured[{series.pattern, series.members}] = sizes_of(series);
  for (const Series& series : series_to_measure(options)) {
    if (series.pattern == Pattern::kGemm) continue;  // not without OpenBLAS
    if (measured[{series.pattern, series.members}] != sizes_of(series))
      return fmt::format("{} of {}", name_of(series.pattern), series.ranks);
  }
  return "";
}

void expect_sound(const Measurement& measurement) {
  for (const Series& series : measurement.series)
    for (const MeasuredPoint& point : series.points) {
      EXPECT_GT(point.time_s, 0);
      EXPECT_LE(point.low_s, point.time_s);
      EXPECT_GE(point.high_s, point.time_s);
      EXPECT_LE(point.p10_s, point.time_s);
      EXPECT_GE(point.p90_s, point.time_s);
      EXPECT_GE(point.samples, 1);
    }
}

TEST_P(MeasureAlone, MeasuresEverySeriesAtEverySize) {
  MeasureOptions options{.ranks = 4, .budget_s = 8, .bytes_max = 128 << 10, .machine = "loopback"};
  const auto words = command(options.ranks);
  if (words.empty()) GTEST_SKIP() << reason_;
  std::string progress;
  MeasureOutcome outcome;
  std::string lacks;
  // A machine that is busy with other things needs more than the 8 s.
  for (; options.budget_s <= 64; options.budget_s *= 2) {
    outcome = measure(words, options, [&](const std::string& line) { progress = line; });
    ASSERT_EQ(outcome.failure, "");
    lacks = lacking(outcome.measurement, options);
    if (lacks.empty()) break;
  }
  ASSERT_EQ(lacks, "");
  const Measurement& measurement = outcome.measurement;
  expect_sound(measurement);
  EXPECT_THAT(progress, HasSubstr("points known"));

  EXPECT_EQ(measurement.machine, "loopback");
  EXPECT_THAT(measurement.library, HasSubstr(mpi_library_title(GetParam())));
  for (const char* fact : {"date", "mpi", "compiler", "kernel", "cpu", "cores"})
    EXPECT_FALSE(measurement.provenance.at(fact).empty()) << fact;
  EXPECT_FALSE(measurement.provenance.contains("environment"));
  EXPECT_FALSE(measurement.provenance.contains("hosts"));

  // A rendezvous waits for the receive that comes 5 ms late, small messages do not.
  const Series late = series_of(measurement.series, Pattern::kLateReceive).front();
  EXPECT_LT(late.points.front().time_s, 5e-3);
  // 64 times the data through the same memory takes longer.
  for (const Pattern pattern : {Pattern::kReduction, Pattern::kMemoryCopy}) {
    const Series local = series_of(measurement.series, pattern).front();
    EXPECT_GT(local.points.back().time_s, local.points.front().time_s) << name_of(pattern);
  }
}

TEST_P(MeasureAlone, KeepsToTheBudgetAndSaysWhatLacks) {
  const MeasureOptions options{
      .ranks = 3, .budget_s = 2, .bytes_max = 64 << 20, .library_collectives = true};
  const auto words = command(options.ranks);
  if (words.empty()) GTEST_SKIP() << reason_;
  const auto begin = std::chrono::steady_clock::now();
  const MeasureOutcome outcome = measure(words, options, {});
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  ASSERT_EQ(outcome.failure, "");
  EXPECT_LT(wall.count(), 20);  // launched twice
  EXPECT_FALSE(outcome.measurement.series.empty());
  ASSERT_FALSE(outcome.measurement.notes.empty());
  EXPECT_THAT(outcome.measurement.notes.back(), HasSubstr("the budget of"));
}

TEST_P(MeasureAlone, SaysEnvironmentAndHostsWhenAsked) {
  const MeasureOptions options{.ranks = 2,
                               .budget_s = 0.5,
                               .bytes_max = 1024,
                               .patterns = {Pattern::kPingPong},
                               .include_environment = true,
                               .include_hosts = true};
  const auto words = command(options.ranks);
  if (words.empty()) GTEST_SKIP() << reason_;
  setenv("UCX_FORESCALE_TEST", "seen", 1);
  const MeasureOutcome outcome = measure(words, options, {});
  unsetenv("UCX_FORESCALE_TEST");
  ASSERT_EQ(outcome.failure, "");
  EXPECT_THAT(outcome.measurement.provenance.at("environment"),
              HasSubstr("UCX_FORESCALE_TEST=seen"));
  EXPECT_THAT(outcome.measurement.provenance.at("hosts"), HasSubstr(", "));
}

INSTANTIATE_TEST_SUITE_P(Libraries, MeasureAlone, ::testing::Values("openmpi", "mpich"));

}  // namespace
}  // namespace forescale
