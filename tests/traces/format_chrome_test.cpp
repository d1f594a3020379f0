// Chrome traces: valid JSON with a name for every process and thread, slices that nest, arrows that
// have two ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/json_text.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {
namespace {

using nlohmann::json;

const std::vector<RankPlace> kPlaces = {
    {.node = 0, .node_name = "node0", .rank_name = "rank 0 (gpu0)"},
    {.node = 0, .node_name = "node0", .rank_name = "rank 1 (gpu1)"},
    {.node = 1, .node_name = "node1", .rank_name = "rank 2 (gpu0)"}};

json events_of(const Timeline& timeline, const std::vector<RankPlace>& places = kPlaces) {
  std::ostringstream text;
  write_chrome_trace(timeline, places, text);
  return parse_json(text.str()).at("traceEvents");
}

std::vector<json> of_phase(const json& events, const std::string& phase) {
  std::vector<json> list;
  for (const json& event : events)
    if (event.at("ph") == phase) list.push_back(event);
  return list;
}

Span span(Timeline& timeline, int rank, Track track, const std::string& label, double begin_s,
          double end_s) {
  return {.rank = rank,
          .track = track,
          .label = timeline.label(label),
          .begin_s = begin_s,
          .end_s = end_s};
}

// A message from one rank to another, as the simulator notes it: the send, then its receive.
void add_message(Timeline& timeline, int from, int to, double begin_s, double end_s) {
  Span out = span(timeline, from, Track::kSend, "weights", begin_s, end_s);
  out.peer = to;
  out.bytes = 64;
  Span in = span(timeline, to, Track::kReceive, "weights", begin_s, end_s);
  in.peer = from;
  in.bytes = 64;
  timeline.add(out);
  timeline.add(in);
}

TEST(TimelineLabels, EqualTextsHaveOneNumber) {
  Timeline timeline;
  const int forward = timeline.label("forward");
  const int backward = timeline.label("backward");
  EXPECT_NE(forward, backward);
  EXPECT_EQ(timeline.label("forward"), forward);
  EXPECT_EQ(timeline.labels().size(), 2u);
  EXPECT_EQ(timeline.labels()[static_cast<size_t>(backward)], "backward");
}

TEST(TimelineSpans, OfOneRankOnly) {
  Timeline timeline(1);
  timeline.add(span(timeline, 0, Track::kCompute, "a", 0, 1));
  timeline.add(span(timeline, 1, Track::kCompute, "b", 0, 1));
  ASSERT_EQ(timeline.spans().size(), 1u);
  EXPECT_EQ(timeline.spans()[0].rank, 1);
}

TEST(TimelineSpans, ForgetsWhatEndedBefore) {
  Timeline timeline;
  for (int i = 0; i < 4; ++i) timeline.add(span(timeline, 0, Track::kCompute, "a", i, i + 1));
  timeline.keep_from(2);
  ASSERT_EQ(timeline.spans().size(), 2u);
  for (const Span& kept : timeline.spans()) EXPECT_GT(kept.end_s, 2);
}

TEST(TimelineLabels, EveryTrackHasAName) {
  std::set<std::string> names;
  for (const Track track :
       {Track::kCompute, Track::kReduction, Track::kSend, Track::kReceive, Track::kCopy,
        Track::kMainThread, Track::kHelperThread, Track::kHost, Track::kCollective, Track::kPath})
    names.insert(name_of(track));
  EXPECT_EQ(names.size(), static_cast<size_t>(kTrackCount));
  EXPECT_EQ(names.count(""), 0u);
}

TEST(ChromeTrace, OfNothingIsValid) {
  const json events = events_of(Timeline());
  EXPECT_EQ(of_phase(events, "X").size(), 0u);
  EXPECT_EQ(of_phase(events, "M").size(), 2u);  // the two nodes
  EXPECT_TRUE(events_of(Timeline(), {}).empty());
}

TEST(ChromeTrace, SliceHasMicrosecondsNameAndPlace) {
  Timeline timeline;
  timeline.add(span(timeline, 2, Track::kCompute, "forward conv1", 0.25, 0.75));
  const std::vector<json> slices = of_phase(events_of(timeline), "X");
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_EQ(slices[0].at("name"), "forward conv1");
  EXPECT_EQ(slices[0].at("pid"), 1);
  EXPECT_EQ(slices[0].at("ts").get<double>(), 0.25e6);
  EXPECT_EQ(slices[0].at("dur").get<double>(), 0.5e6);
}

TEST(ChromeTrace, ProcessesAndThreadsHaveNames) {
  Timeline timeline;
  timeline.add(span(timeline, 0, Track::kCompute, "a", 0, 1));
  timeline.add(span(timeline, 1, Track::kCompute, "a", 0, 1));
  add_message(timeline, 0, 2, 0, 1);
  const json events = events_of(timeline);
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  for (const json& event : of_phase(events, "M")) {
    const std::string name = event.at("name");
    if (name == "process_name") processes[event.at("pid")] = event.at("args").at("name");
    if (name == "thread_name")
      threads[{event.at("pid"), event.at("tid")}] = event.at("args").at("name");
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{{0, "node0"}, {1, "node1"}}));
  std::set<std::string> names;
  for (const auto& [thread, name] : threads) names.insert(name);
  EXPECT_EQ(names,
            (std::set<std::string>{"rank 0 (gpu0) compute", "rank 1 (gpu1) compute",
                                   "rank 0 (gpu0) network send", "rank 2 (gpu0) network receive"}));
  for (const json& slice : of_phase(events, "X"))
    EXPECT_EQ(threads.count({slice.at("pid"), slice.at("tid")}), 1u) << slice;
}

// A viewer nests slices of one thread; one that begins inside another and ends after it is lost.
void expect_nesting(const json& events) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> by_thread;
  for (const json& slice : of_phase(events, "X")) {
    const double begin = slice.at("ts");
    by_thread[{slice.at("pid"), slice.at("tid")}].emplace_back(
        begin, begin + slice.at("dur").get<double>());
  }
  constexpr double kRounding = 1e-6;  // of sums of doubles: times are whole nanoseconds
  for (auto& [thread, slices] : by_thread)
    for (const auto& a : slices)
      for (const auto& b : slices) {
        const bool partly =
            a.first < b.first && b.first < a.second - kRounding && a.second < b.second - kRounding;
        EXPECT_FALSE(partly) << "thread " << thread.second << ": " << a.first << " to " << a.second
                             << " and " << b.first << " to " << b.second;
      }
}

TEST(ChromeTrace, OverlappingSpansOfATrackGoToFurtherThreads) {
  Timeline timeline;
  timeline.add(span(timeline, 0, Track::kCopy, "a", 0, 2));
  timeline.add(span(timeline, 0, Track::kCopy, "b", 1, 3));
  timeline.add(span(timeline, 0, Track::kCopy, "c", 2, 4));
  timeline.add(span(timeline, 0, Track::kCopy, "d", 2.5, 5));
  const json events = events_of(timeline);
  expect_nesting(events);
  std::map<std::string, int> thread;
  for (const json& slice : of_phase(events, "X"))
    thread[slice.at("name")] = slice.at("tid").get<int>();
  EXPECT_NE(thread["a"], thread["b"]);
  EXPECT_EQ(thread["a"], thread["c"]) << "c begins where a ends";
  EXPECT_NE(thread["d"], thread["c"]);
  EXPECT_NE(thread["d"], thread["b"]);
}

// Spans arrive by their ends, not by their beginnings.
TEST(ChromeTrace, SpansNeedNotBeInOrder) {
  Timeline timeline;
  for (int i = 9; i >= 0; --i)
    timeline.add(span(timeline, i % 3, Track::kReduction, "r", i * 0.1, i * 0.1 + 0.35));
  expect_nesting(events_of(timeline));
}

// Written in whole nanoseconds: what touches must still touch, not overlap by one.
TEST(ChromeTrace, RoundingDoesNotMakeNeighboursOverlap) {
  Timeline timeline;
  timeline.add(span(timeline, 0, Track::kCompute, "a", 0.6e-9, 10.2e-9));
  timeline.add(span(timeline, 0, Track::kCompute, "b", 10.2e-9, 20.4e-9));
  timeline.add(span(timeline, 0, Track::kCompute, "c", 20.4e-9, 30.9e-9));
  expect_nesting(events_of(timeline));
}

TEST(ChromeTrace, ArrowsGoFromEachSendToItsReceive) {
  Timeline timeline;
  timeline.add(span(timeline, 0, Track::kCompute, "a", 0, 1));
  add_message(timeline, 0, 1, 1, 2);
  add_message(timeline, 0, 2, 2, 3);
  timeline.add(span(timeline, 2, Track::kCompute, "b", 3, 4));
  add_message(timeline, 2, 0, 4, 5);
  const json events = events_of(timeline);
  std::map<int, json> begins;
  std::map<int, json> ends;
  for (const json& arrow : of_phase(events, "s"))
    EXPECT_TRUE(begins.emplace(arrow.at("id"), arrow).second) << "two arrows of one id";
  for (const json& arrow : of_phase(events, "f"))
    EXPECT_TRUE(ends.emplace(arrow.at("id"), arrow).second) << "two ends of one arrow";
  ASSERT_EQ(begins.size(), 3u);
  ASSERT_EQ(ends.size(), 3u);
  std::set<std::pair<int, int>> seen;
  for (const auto& [id, begin] : begins) {
    ASSERT_EQ(ends.count(id), 1u);
    EXPECT_LE(begin.at("ts").get<double>(), ends[id].at("ts").get<double>());
    seen.emplace(begin.at("ts").get<double>() / 1e6, ends[id].at("ts").get<double>() / 1e6);
    // Both ends lie on a slice of their thread, else a viewer drops the arrow.
    for (const json& end : {begin, ends[id]}) {
      bool lies = false;
      for (const json& slice : of_phase(events, "X"))
        lies = lies || (slice.at("pid") == end.at("pid") && slice.at("tid") == end.at("tid") &&
                        slice.at("ts").get<double>() <= end.at("ts").get<double>() &&
                        end.at("ts").get<double>() <=
                            slice.at("ts").get<double>() + slice.at("dur").get<double>());
      EXPECT_TRUE(lies) << end;
    }
  }
  EXPECT_EQ(seen, (std::set<std::pair<int, int>>{{1, 2}, {2, 3}, {4, 5}}));
}

TEST(ChromeTrace, LabelsAreEscaped) {
  const std::string label = "a \"quoted\" \\ name\n\twith \x01 control characters";
  Timeline timeline;
  timeline.add(span(timeline, 0, Track::kCompute, label, 0, 1));
  timeline.add(span(timeline, 0, Track::kCompute, "not UTF-8: \xff", 1, 2));
  const std::vector<RankPlace> places = {
      {.node = 0, .node_name = "node \"0\"", .rank_name = "rank\\0"}};
  const json events = events_of(timeline, places);
  const std::vector<json> slices = of_phase(events, "X");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].at("name"), label);
  EXPECT_EQ(slices[1].at("name"), "not UTF-8: \xef\xbf\xbd") << "the replacement character";
  EXPECT_EQ(of_phase(events, "M")[0].at("args").at("name"), "node \"0\"");
}

}  // namespace
}  // namespace forescale
