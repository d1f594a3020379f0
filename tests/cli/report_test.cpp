// `forescale report` end to end, without a browser: what it reads, what it refuses, and that no
// text of an input gets out of the page's data. tests/report/ looks at the page itself.
#include <gtest/gtest.h>

#include <numeric>
#include <regex>
#include <set>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "cli/report/packed.hpp"
#include "cli/report/shape.hpp"
#include "cli/report/timeline.hpp"
#include "cli/report/views.hpp"
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
  EXPECT_EQ(document.at("answers").at(0).at("result"), prediction());
  EXPECT_EQ(document.at("answers").at(1).at("result"), validation);
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

// Spans of a row sorted by time, the earliest at 0; metadata gives names and order.
TEST(ReportTimeline, HasRowsOfSpansByTime) {
  const auto metadata = [](const std::string& what, int thread, const json& args) {
    return json{{"ph", "M"}, {"name", what}, {"pid", 7}, {"tid", thread}, {"args", args}};
  };
  json late = span(9.25, 1, "backward");
  json early = span(5.5, 2);
  json other = span(5, 0.001);
  late["pid"] = early["pid"] = other["pid"] = 7;
  other["tid"] = 1;
  other["args"] = {{"bytes", 64}};
  TraceColumns columns;
  for (const json& event : {late, early, other, metadata("process_name", 0, {{"name", "node"}}),
                            metadata("thread_name", 1, {{"name", "first"}}),
                            metadata("thread_sort_index", 1, {{"sort_index", 1}}),
                            metadata("thread_sort_index", 0, {{"sort_index", 2}}),
                            json{{"ph", "s"}, {"name", "message"}}})
    columns.add(event, "t.json");
  const ReportTimeline timeline = columns.finish("t.json", {});
  EXPECT_EQ(json(timeline.kinds), parse_json(R"([["backward", {}], ["forward", {}],
                                                  ["forward", {"bytes": 64}]])"));
  EXPECT_EQ(timeline.other_events.at("s"), 1U);
  ASSERT_EQ(timeline.rows.size(), 2U);
  EXPECT_EQ(timeline.rows[0].process, "node");
  EXPECT_EQ(timeline.rows[0].thread, "first");
  EXPECT_EQ(timeline.rows[0].length_ns, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(timeline.rows[1].thread, "thread 0");
  EXPECT_EQ(timeline.rows[1].begin_ns, (std::vector<std::int64_t>{500, 500 + 3750}));
  EXPECT_EQ(timeline.rows[1].length_ns, (std::vector<std::int64_t>{2000, 1000}));
  EXPECT_EQ(timeline.rows[1].kind, (std::vector<size_t>{1, 0}));
}

// Of 1,000 spans of 1 us and one of 100 us, at most 20: the long one stays as it is, and what is
// merged covers the time that it covered.
TEST(ReportTimeline, MergesTheShortestBeyondItsLimit) {
  TraceColumns columns;
  for (int i = 0; i < 1000; ++i)
    columns.add(span(i, 1, i < 600 ? "forward" : "backward"), "t.json");
  columns.add(span(2000, 100, "update"), "t.json");
  const ReportTimeline timeline = columns.finish("t.json", {.spans_max = 20});
  const ReportRow& row = timeline.rows.at(0);
  EXPECT_LE(row.kind.size(), 20U);
  EXPECT_EQ(row.kind.size() + timeline.merged_count, 1001U);
  EXPECT_EQ(row.length_ns.back(), 100'000);
  EXPECT_EQ(std::accumulate(row.length_ns.begin(), row.length_ns.end() - 1, std::int64_t{0}),
            1'000'000);
  EXPECT_GT(timeline.merged_below_ns, 1'000'000 / 20);
}

// RFC 4648, section 10, of what RFC 1950 makes; and the codes that packed.hpp names.
TEST(ReportPacking, IsDeflatedBase64OfVarints) {
  std::string bytes;
  for (const std::int64_t number : {0, -1, 1, -2, 64, -8192}) append_varint(bytes, number);
  EXPECT_EQ(bytes, (std::string{0, 1, 2, 3} + "\x80\x01" + "\xff\x7f"));
  for (const size_t length : {0U, 1U, 2U, 3U, 1000U}) {
    const std::string packed = packed_text(std::string(length, 'x'));
    EXPECT_EQ(packed.size() % 4, 0U);
    EXPECT_EQ(packed.substr(0, 2), "eN");  // zlib's head: 0x78, 0xda
  }
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
  EXPECT_EQ(document.at("answers").at(0).at("result"), hostile);
  const std::string page = text_of(output());
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("\xE2\x80\xA8"), std::string::npos);
  const std::regex tag("</?script");
  EXPECT_EQ(std::distance(std::sregex_iterator(page.begin(), page.end(), tag), {}), 10);
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
  expect_file_refused("{\"a\": 1}", {"bad.json", "must have a \"format\"", "traceEvents"});
  expect_file_refused("7", {"bad.json", "must have a \"format\"", "holds no object"});
  expect_file_refused("{\"devices\": [], \"links\": []}",
                      {"bad.json", "has \"devices\", \"links\"", "predict", "crossover", "replay"});
  expect_file_refused("{\"format\": \"forescale-platform-1\"}",
                      {"bad.json:/format = \"forescale-platform-1\"", "unknown", "tune schedule"});
  expect_file_refused("{\"format\": \"forescale-prediction-2\"}",
                      {"bad.json:/format", "did you mean \"forescale-prediction-1\""});
  expect_file_refused("{\"format\": \"forescale-prediction-1\", \"points\": []}",
                      {"bad.json:/points", "at least one element"});
  expect_file_refused(
      "{\"format\": \"forescale-validation-1\", \"rows\": [{\"id\": 1, \"claim\": 2}]}",
      {"bad.json:/rows/0/claim = 2", "must be a string"});
  expect_file_refused(std::string(100000, '['), {"bad.json", "must nest at most 64 deep"});
  expect_file_refused("{\"traceEvents\": 3}", {"bad.json:/traceEvents = 3", "must be an array"});
  expect_file_refused("[]", {"bad.json:/traceEvents", "none is there"});
  expect_file_refused("{\"format\": \"forescale-prediction-1\", \"points\": [1e999]}",
                      {"bad.json", "64 bits"});
  expect_refused("report " + workshop_.path("nowhere.json"), {"nowhere.json", "cannot be opened"});
  expect_refused("report " + workshop_.path(""), {"is a folder"});
  expect_refused("report", {"RESULT"});
}

// A list, an optional, a nullable and a free key, another answer, and what fits or not.
TEST(ReportShape, NamesTheFirstThingThatIsWrong) {
  const Shapes shapes = {{"toy-1", {{"count", "count1"}}}};
  const json shape = parse_json(R"({"title?": "text", "list": [{"*": "amount?"}, "+"],
      "other?": "toy-1", "if fits": {"time_s": "positive"}, "unless points": {"flag": "flag"}})");
  const auto outcome = [&](const std::string& text) {
    try {
      check_shape(JsonInput::from_text(text, "toy.json"), shape, shapes);
      return std::string();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  const std::string rest = R"("list": [{"a": 1, "b": null}], )";
  EXPECT_EQ(outcome("{" + rest + R"("time_s": 1, "flag": true})"), "");
  EXPECT_EQ(outcome("{" + rest + R"("fits": false, "points": 0, "other": {"count": 1}})"), "");
  EXPECT_EQ(outcome("{" + rest + R"("title": null, "fits": false, "flag": false})"), "");
  const auto fails = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(outcome(text).find(part), std::string::npos) << outcome(text);
  };
  fails("{" + rest + R"("time_s": 0, "flag": true})", "toy.json:/time_s = 0: must be > 0");
  fails("{" + rest + R"("time_s": 1})", "flag");
  fails("{" + rest + R"("time_s": 1, "flag": 2})", "/flag");
  fails("{" + rest + R"("time_s": 1, "flag": true, "title": 3})", "/title = 3: must be a string");
  fails(R"({"list": [{"a": -1}], "time_s": 1, "flag": true})", "/list/0/a");
  fails(R"({"list": [], "time_s": 1, "flag": true})", "/list: must have at least one element");
  fails("{" + rest + R"("time_s": 1, "flag": true, "other": {"count": 0}})", "/other/count");
}

// Every view says what it takes, in types that there are, and no two take the same.
TEST(ReportViews, AreWhole) {
  std::set<std::string> formats;
  Shapes shapes;
  for (const ReportView& view : report_views()) shapes[view.format] = view.shape;
  for (const ReportView& view : report_views()) {
    EXPECT_TRUE(formats.insert(view.format).second) << view.format;
    EXPECT_FALSE(view.kind.empty() || view.made_by.empty()) << view.format;
    EXPECT_NE(view.script.find("views[\"" + view.format + "\"]"), std::string::npos);
    EXPECT_THROW(check_shape(JsonInput::from_text("{}", "x"), view.shape, shapes), InputError);
  }
  EXPECT_GE(formats.size(), 14U);
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
