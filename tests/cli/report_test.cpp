// `forescale report` end to end, without a browser: what it reads, what it refuses, and that no
// text of an input gets out of the page's data. tests/report/ looks at the page itself.
#include <gtest/gtest.h>

#include <regex>

#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using testing::expect_answer;
using testing::expect_refused;
using testing::text_of;
using testing::Workshop;

json prediction() {
  return {{"format", "forescale-prediction-1"},
          {"title", "one"},
          {"points",
           {{{"gpus", 1}, {"fits", false}},
            {{"gpus", 2},
             {"iteration_s", 0.5},
             {"images_per_s", 128.0},
             {"root_s", {{"forward", 0.5}}}}}},
          {"warnings", json::array()},
          {"numbers", json::array()}};
}

json span(double begin_us, double length_us, const std::string& name = "forward") {
  return {{"ph", "X"},      {"pid", 0},         {"tid", 0},
          {"ts", begin_us}, {"dur", length_us}, {"name", name}};
}

// The data of a page, as its code reads them.
json document_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"document\">";
  const size_t begin = page.find(open) + open.size();
  return parse_json(page.substr(begin, page.find("</script>", begin) - begin));
}

class Report : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const json& content) const {
    return workshop_.file(name, content.dump());
  }
  std::string output() const { return workshop_.path("report.html"); }
  json made_of(const std::string& files) const {
    expect_answer("report " + files + " -o " + output(), {"written: ", output()});
    return document_of(text_of(output()));
  }
  void expect_file_refused(const std::string& text, const std::vector<std::string>& parts) const {
    expect_refused("report " + workshop_.file("bad.json", text) + " -o " + output(), parts);
    EXPECT_FALSE(std::filesystem::exists(output()));
  }

  Workshop workshop_;
};

TEST_F(Report, HoldsWhatTheInputsHold) {
  const json validation = {{"format", "forescale-validation-1"},
                           {"rows",
                            {{{"id", "a"},
                              {"paper", "p"},
                              {"claim", "c"},
                              {"role", "prediction"},
                              {"measured", 2.0},
                              {"predicted", 3.0},
                              {"error", 0.5}}}}};
  const json trace = {{"traceEvents", {span(5, 2)}}};
  const json document = made_of(file("p.json", prediction()) + " " + file("v.json", validation) +
                                " " + file("t.json", trace));
  ASSERT_EQ(document.at("files").size(), 3U);
  EXPECT_EQ(document.at("predictions").at(0).at("result"), prediction());
  EXPECT_EQ(document.at("validations").at(0).at("result"), validation);
  EXPECT_EQ(document.at("timelines").at(0).at("file"), 2);
  EXPECT_EQ(document.at("files").at(2).at("kind"), "timeline");
}

// By sha256sum of coreutils.
TEST_F(Report, NamesItsInputsWithTheirDigests) {
  const std::string text = prediction().dump();
  const json document = made_of(workshop_.file("p.json", text));
  const std::string sum = workshop_.path("sum");
  ASSERT_EQ(std::system(("sha256sum " + workshop_.path("p.json") + " > " + sum).c_str()), 0);
  EXPECT_EQ(document.at("files").at(0).at("sha256"), text_of(sum).substr(0, 64));
  EXPECT_EQ(document.at("files").at(0).at("bytes"), text.size());
}

// Spans of a row sorted by time and coded as differences; metadata gives names and order.
TEST_F(Report, TurnsATraceIntoColumns) {
  const auto metadata = [](const std::string& what, int thread, const json& args) {
    return json{{"ph", "M"}, {"name", what}, {"pid", 7}, {"tid", thread}, {"args", args}};
  };
  json late = span(9.25, 1, "backward");
  json early = span(5.5, 2);
  json other = span(5, 0.001);
  late["pid"] = early["pid"] = other["pid"] = 7;
  other["tid"] = 1;
  other["args"] = {{"bytes", 64}};
  const json trace = {{"traceEvents",
                       {late,
                        early,
                        other,
                        metadata("process_name", 0, {{"name", "node"}}),
                        metadata("thread_name", 1, {{"name", "first"}}),
                        metadata("thread_sort_index", 1, {{"sort_index", 1}}),
                        metadata("thread_sort_index", 0, {{"sort_index", 2}}),
                        {{"ph", "s"}, {"name", "message"}}}}};
  const json timeline = made_of(file("t.json", trace)).at("timelines").at(0).at("timeline");
  const json expected = {
      {"unit", "ns"},
      {"kinds", json::array({json::array({"backward", json::object()}),
                             json::array({"forward", json::object()}),
                             json::array({"forward", {{"bytes", 64}}})})},
      {"other_events", {{"s", 1}}},
      {"rows",
       {{{"process", "node"}, {"thread", "first"}, {"begin", {0}}, {"length", {1}}, {"kind", {2}}},
        {{"process", "node"},
         {"thread", "thread 0"},
         {"begin", {500, 3750}},
         {"length", {2000, 1000}},
         {"kind", {1, 0}}}}}};
  EXPECT_EQ(timeline, expected);
  // A bare array of events is a trace too.
  EXPECT_EQ(made_of(file("a.json", trace.at("traceEvents"))).at("timelines").at(0).at("timeline"),
            expected);
}

TEST_F(Report, FindsTheTimelineThatAResultNames) {
  json result = prediction();
  result["trace"] = "t.json";
  const std::string named = file("deep/t.json", {{"traceEvents", {span(0, 1)}}});
  const std::string results = file("deep/p.json", result);
  EXPECT_EQ(made_of(results).at("timelines").size(), 1U);
  EXPECT_EQ(made_of(results + " " + named).at("timelines").size(), 1U);
  std::filesystem::remove(named);
  const auto answer = testing::run_program("report " + results + " -o " + output());
  EXPECT_EQ(answer.exit_code, 0);
  EXPECT_NE(answer.err.find("names the timeline"), std::string::npos);
  EXPECT_EQ(document_of(text_of(output())).at("notes").size(), 1U);
}

// Whatever an input says, the page has the markup that it always has.
TEST_F(Report, KeepsTextsOutOfTheMarkup) {
  const std::string attack =
      "</script><script>alert(1)</script><!--<img src=x "
      "onerror=alert(2)>&lt;\xE2\x80\xA8\xE2\x80\xA9"
      "{{policy}}";
  json hostile = prediction();
  hostile["title"] = hostile["system"] = hostile[attack] = attack;
  hostile["warnings"] = {attack};
  const std::string name = "<img src=x onerror=alert(3)>.json";
  workshop_.file(name, hostile.dump());
  const json document = made_of("'" + workshop_.path(name) + "' --title '" + attack + "'");
  EXPECT_EQ(document.at("title"), attack);
  EXPECT_EQ(document.at("predictions").at(0).at("result"), hostile);
  const std::string page = text_of(output());
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("\xE2\x80\xA8"), std::string::npos);
  const std::regex tag("</?script");
  EXPECT_EQ(std::distance(std::sregex_iterator(page.begin(), page.end(), tag), {}), 8);
}

TEST_F(Report, SaysTheSameTwice) {
  const std::string result = file("p.json", prediction());
  made_of(result);
  const std::string first = text_of(output());
  made_of(result);
  EXPECT_EQ(text_of(output()), first);
}

TEST_F(Report, RefusesWhatIsNoResult) {
  expect_file_refused("{\"format\": \"forescale-prediction-1\", \"points\": [",
                      {"bad.json", "ends too early"});
  expect_file_refused("", {"bad.json", "ends too early"});
  expect_file_refused("{\"a\": 1}", {"bad.json", "must have \"format\"", "traceEvents"});
  expect_file_refused("7", {"bad.json", "must have \"format\""});
  expect_file_refused("{\"format\": \"forescale-prediction-2\"}",
                      {"bad.json:/format", "did you mean \"forescale-prediction-1\""});
  expect_file_refused("{\"format\": \"forescale-prediction-1\", \"points\": []}",
                      {"bad.json:/points", "at least one point"});
  expect_file_refused("{\"format\": \"forescale-validation-1\", \"rows\": [{\"id\": 1}]}",
                      {"bad.json:/rows/0/id = 1", "must be a string"});
  expect_file_refused(std::string(100000, '['), {"bad.json", "must nest at most 64 deep"});
  expect_file_refused("{\"traceEvents\": 3}", {"bad.json:/traceEvents = 3", "must be an array"});
  expect_file_refused("[]", {"bad.json:/traceEvents", "none is there"});
  expect_file_refused("{\"format\": \"forescale-prediction-1\", \"points\": [1e999]}",
                      {"bad.json", "64 bits"});
  expect_refused("report " + workshop_.path("nowhere.json"), {"nowhere.json", "cannot be opened"});
  expect_refused("report " + workshop_.path(""), {"is a folder"});
  expect_refused("report", {"RESULT"});
}

TEST_F(Report, RefusesPointsAndSpansThatItCannotDraw) {
  json result = prediction();
  result["points"][1]["iteration_s"] = 0;
  expect_file_refused(result.dump(), {"bad.json:/points/1/iteration_s = 0", "must be > 0"});
  result["points"][1]["iteration_s"] = "fast";
  expect_file_refused(result.dump(), {"/points/1/iteration_s", "must be a number"});
  result = prediction();
  result["points"][1]["root_s"]["forward"] = nullptr;
  expect_file_refused(result.dump(), {"/points/1/root_s/forward", "must be a number"});
  expect_file_refused(json{{"traceEvents", {span(0, 1), span(0, -1)}}}.dump(),
                      {"bad.json:/traceEvents/1/dur", ">= 0"});
  expect_file_refused(json{{"traceEvents", {span(1e300, 1)}}}.dump(),
                      {"bad.json:/traceEvents/0/ts", "microseconds"});
}

// What was there stays, and nothing half-written is left behind.
TEST_F(Report, DestroysNothing) {
  const std::string good = file("p.json", prediction());
  const std::string old = workshop_.file("old/report.html", "old");
  expect_refused("report " + good + " " + workshop_.file("bad.json", "{") + " -o " + old,
                 {"bad.json"});
  EXPECT_EQ(text_of(old), "old");
  expect_refused("report " + good + " -o " + good, {"--output = " + good, "is an input"});
  EXPECT_EQ(text_of(good), prediction().dump());
  expect_refused("report " + good + " -o " + workshop_.path("no/such/report.html"),
                 {"--output", "cannot be written", "No such file"});
  expect_refused("report " + good + " -o /dev/null", {"--output = /dev/null", "no plain file"});
  expect_refused("report " + good + " -o " + workshop_.path("old"), {"no plain file"});
  expect_answer("report " + good + " -o " + old, {"1 prediction)"});
  EXPECT_NE(text_of(old), "old");
  const auto entries = std::filesystem::directory_iterator(workshop_.path("old"));
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST_F(Report, KeepsALinkALink) {
  const std::string good = file("p.json", prediction());
  const std::string target = workshop_.file("there/report.html", "old");
  std::filesystem::create_symlink(target, workshop_.path("link.html"));
  expect_answer("report " + good + " -o " + workshop_.path("link.html"));
  EXPECT_TRUE(std::filesystem::is_symlink(workshop_.path("link.html")));
  EXPECT_NE(text_of(target), "old");
}

}  // namespace
}  // namespace forescale
