// The measurement form: what is written is read back, and what is wrong is refused by its place.
#include "calibrate/measure/measurement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/scratch_folder.hpp"
#include "tests/base/refusal.hpp"
#include "tests/calibrate/json_forms.hpp"
#include "tests/calibrate/logs.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::measurement_refusal;
using testing::refusal;
using testing::text_of;

json point(std::int64_t bytes, double time_s) { return {{"bytes", bytes}, {"time_s", time_s}}; }

json document() {
  return {{"format", "forescale-measurement-1"},
          {"series",
           {{{"pattern", "ping-pong"},
             {"ranks", 2},
             {"points", {point(1, 2e-6), point(1024, 3e-6)}}}}}};
}

// The document with one more change, as JSON pointer and value.
std::string refusal_with(const std::string& pointer, const json& value) {
  json changed = document();
  changed[json::json_pointer(pointer)] = value;
  return measurement_refusal(changed);
}

Measurement full() {
  return {.machine = "m",
          .library = "l 1",
          .provenance = {{"command", "c"}, {"date", "d"}},
          .notes = {"n"},
          .series = {{.pattern = Pattern::kPairs,
                      .ranks = 4,
                      .members = {0, 2, 1, 3},
                      .points = {{.bytes = 8,
                                  .time_s = 2e-6,
                                  .low_s = 1.9e-6,
                                  .high_s = 2.2e-6,
                                  .p10_s = 1.5e-6,
                                  .p90_s = 3e-6,
                                  .samples = 100}}},
                     {.pattern = Pattern::kGemm,
                      .ranks = 1,
                      .points = {{.bytes = 1200,
                                  .time_s = 1e-6,
                                  .low_s = 1e-6,
                                  .high_s = 1e-6,
                                  .p10_s = 1e-6,
                                  .p90_s = 1e-6,
                                  .flops = 2000}}},
                     {.pattern = Pattern::kCollective,
                      .ranks = 3,
                      .place = "gpu",
                      .op = "all-reduce",
                      .algorithm = "ring",
                      .points = {{.bytes = 4,
                                  .time_s = 0.1,
                                  .low_s = 0.1,
                                  .high_s = 0.1,
                                  .p10_s = 0.1,
                                  .p90_s = 0.1}}}}};
}

TEST(Measurement, EveryPatternHasItsOwnName) {
  std::set<std::string> names;
  for (const Pattern pattern : rank_patterns()) names.insert(name_of(pattern));
  EXPECT_EQ(names.size(), static_cast<size_t>(Pattern::kCollective) + 1);
  for (const Pattern pattern : gpu_patterns()) names.insert(name_of(pattern));
  EXPECT_EQ(names.size(), static_cast<size_t>(Pattern::kSynchronize) + 1);
  EXPECT_EQ(names.size(), rank_patterns().size() + gpu_patterns().size());
  EXPECT_STREQ(name_of(Pattern::kPingPong), "ping-pong");
}

TEST(Measurement, WhatIsLeftOutHasItsDefault) {
  const Measurement measurement = read_measurement_text(document().dump(), "m.json");
  ASSERT_EQ(measurement.series.size(), 1U);
  const Series& series = measurement.series.front();
  EXPECT_EQ(series.pattern, Pattern::kPingPong);
  EXPECT_EQ(series.place, "host");
  EXPECT_TRUE(series.members.empty());
  ASSERT_EQ(series.points.size(), 2U);
  const MeasuredPoint& second = series.points.back();
  EXPECT_EQ(second.bytes, 1024);
  for (const double time_s :
       {second.time_s, second.low_s, second.high_s, second.p10_s, second.p90_s})
    EXPECT_EQ(time_s, 3e-6);
  EXPECT_EQ(second.samples, 1);
}

TEST(Measurement, WhatIsWrittenIsReadBack) {
  const ScratchFolder folder("measurement");
  const std::string file = folder.file("m.json");
  write_measurement(full(), file);
  const Measurement again = read_measurement(file);
  EXPECT_EQ(to_json(again), to_json(full()));
  EXPECT_EQ(again.series[0].members, (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(again.series[0].points[0].high_s, 2.2e-6);
  EXPECT_EQ(again.series[0].points[0].samples, 100);
  EXPECT_EQ(again.series[1].points[0].flops, 2000);
  EXPECT_EQ(again.series[2].algorithm, "ring");
  EXPECT_EQ(again.provenance.at("command"), "c");
  // The same bytes again, and no draft beside it.
  const std::string bytes = text_of(file);
  write_measurement(again, file);
  EXPECT_EQ(text_of(file), bytes);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Measurement, AnOldFileStaysWhenTheNewOneCannotBeWritten) {
  const ScratchFolder folder("measurement");
  const auto refused = [&](const std::string& file) {
    return refusal([&] { write_measurement(full(), file); });
  };
  EXPECT_THAT(refused(folder.file("missing/m.json")), HasSubstr("No such file or directory"));
  EXPECT_THAT(refused(folder.path()), HasSubstr("is no plain file"));
  EXPECT_THAT(refused("/dev/full"), HasSubstr("/dev/full: cannot be written"));
}

TEST(Measurement, RefusesByPlaceValueAndConstraint) {
  EXPECT_THAT(measurement_refusal(json::object()), HasSubstr("m.json:/format: is required"));
  EXPECT_THAT(refusal_with("/format", "forescale-measurement-2"), HasSubstr("m.json:/format"));
  EXPECT_THAT(refusal_with("/machin", "x"), HasSubstr("did you mean \"machine\""));
  EXPECT_THAT(refusal_with("/series", json::array()), HasSubstr("at least one series"));
  EXPECT_THAT(refusal_with("/series/0/points", json::array()), HasSubstr("at least one point"));
  EXPECT_THAT(refusal_with("/series/0/pattern", "pingpong"),
              HasSubstr("did you mean \"ping-pong\""));
  EXPECT_THAT(refusal_with("/series/0/place", "cpu"), HasSubstr("/series/0/place = \"cpu\""));
  EXPECT_THAT(refusal_with("/series/0/ranks", 3), HasSubstr("/series/0/ranks = 3: must be 2"));
  EXPECT_THAT(refusal_with("/series/0/ranks", 0), HasSubstr("must be >= 1"));
  EXPECT_THAT(refusal_with("/series/0/members", {0}), HasSubstr("lists 1"));
  EXPECT_THAT(refusal_with("/series/0/members", {1, 1}),
              HasSubstr("/members/1 = 1: is there twice"));
  EXPECT_THAT(refusal_with("/series/0/op", "all-reduce"), HasSubstr("\"collective\" only"));
  EXPECT_THAT(refusal_with("/series/0/points/0/flops", 1), HasSubstr("\"gemm\" only"));
  EXPECT_THAT(refusal_with("/provenance", {{"date", 3}}), HasSubstr("/provenance/date = 3"));
}

TEST(Measurement, RefusesTimesAndSizesThatCannotBe) {
  const std::string point = "/series/0/points/1";
  for (const double time_s : {0.0, -1e-6})
    EXPECT_THAT(refusal_with(point + "/time_s", time_s), HasSubstr(point + "/time_s = "));
  EXPECT_THAT(refusal_with(point + "/time_s", "2us"), HasSubstr("must be a number"));
  EXPECT_THAT(refusal_with(point + "/bytes", 1), HasSubstr("larger than the size before, 1"));
  EXPECT_THAT(refusal_with(point + "/bytes", 0), HasSubstr("larger than the size before, 1"));
  EXPECT_THAT(refusal_with(point + "/bytes", -1), HasSubstr("must be >= 0"));
  EXPECT_THAT(refusal_with(point + "/bytes", 1.5), HasSubstr("must be a whole number"));
  EXPECT_THAT(refusal_with(point + "/samples", 0), HasSubstr("must be >= 1"));
  EXPECT_THAT(refusal_with(point + "/low_s", 1e-6), HasSubstr("or neither"));
  json changed = document();
  changed["series"][0]["points"][1]["low_s"] = 4e-6;
  changed["series"][0]["points"][1]["high_s"] = 5e-6;
  EXPECT_THAT(measurement_refusal(changed), HasSubstr(point + "/low_s = 4e-06: must be <= time_s"));
}

TEST(Measurement, RanksOfAHostAreThoseOfACollectiveAndDivideIt) {
  json changed = document();
  changed["series"].push_back({{"pattern", "collective"},
                               {"op", "all-reduce"},
                               {"ranks", 32},
                               {"ranks_per_host", 8},
                               {"points", {point(4, 1e-5)}}});
  const Measurement read = read_measurement_text(changed.dump(), "m.json");
  EXPECT_EQ(read.series.front().ranks_per_host, 1);
  EXPECT_EQ(read.series.back().ranks_per_host, 8);
  EXPECT_EQ(to_json(read)["series"][1]["ranks_per_host"], 8);
  EXPECT_FALSE(to_json(read)["series"][0].contains("ranks_per_host"));
  changed["series"][1]["ranks_per_host"] = 5;
  EXPECT_THAT(measurement_refusal(changed),
              HasSubstr("/series/1/ranks_per_host = 5: must divide the 32 ranks"));
  changed["series"][1]["ranks_per_host"] = 33;
  EXPECT_THAT(measurement_refusal(changed), HasSubstr("must be <= 32"));
  EXPECT_THAT(refusal_with("/series/0/ranks_per_host", 2),
              HasSubstr("is for the pattern \"collective\" only"));
}

TEST(Measurement, RefusesWhatAPatternDoesNotHave) {
  json changed = document();
  json& series = changed["series"][0];
  series["pattern"] = "barrier";
  EXPECT_THAT(measurement_refusal(changed), HasSubstr("must be 0 for a barrier"));
  series["pattern"] = "gemm";
  EXPECT_THAT(measurement_refusal(changed), HasSubstr("/points/0/flops: is required"));
  series["pattern"] = "collective";
  EXPECT_THAT(measurement_refusal(changed), HasSubstr("/series/0/op: is required"));
  series["op"] = "allreduce";
  EXPECT_THAT(measurement_refusal(changed), HasSubstr("did you mean \"all-reduce\""));
  series.erase("op");
  series["pattern"] = "pairs";
  series["ranks"] = 3;
  EXPECT_THAT(measurement_refusal(changed), HasSubstr("must be even"));
}

}  // namespace
}  // namespace forescale
