#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/json_text.hpp"
#include "sim/ask/spread.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

constexpr const char* kOnStar =
    "collective --platform star:hosts=160,bandwidth=12.5GB/s,latency=1us ";
constexpr const char* kChain =
    "--op reduce --algorithm chain --ranks 160 --bytes 256MiB --chunk-bytes 4MiB ";

// The example of --help. (n + P - 2) t(c) with n = 256 MiB / 4 MiB chunks on P = 160 ranks.
TEST(CollectiveCommand, ExampleIsThePapersEquation) {
  const nlohmann::json answer = expect_answer(std::string(kOnStar) + kChain + "--json").json();
  const double step_s = 1e-6 + (4 << 20) / 12.5e9;
  const double expected_s = (256 / 4 + 160 - 2) * step_s;
  for (const char* key : {"time_s", "simulated_s", "cost_engine_s", "closed_form_s"})
    EXPECT_NEAR(answer[key], expected_s, 1e-9 * expected_s) << key;
  EXPECT_LE(answer["bound_s"], answer["time_s"]);
  EXPECT_EQ(answer["messages"], 159 * 64);
  EXPECT_DOUBLE_EQ(answer["bytes_sent"], 159.0 * (256 << 20));
  EXPECT_EQ(answer["ranks"], 160);
}

TEST(CollectiveCommand, AnswersEverySizeAndRankCount) {
  const std::string question =
      "collective --platform star:hosts=8,bandwidth=1GB/s,latency=1us "
      "--op all-reduce --algorithm ring --ranks 2..8 --bytes 4KiB..8KiB ";
  const nlohmann::json points = expect_answer(question + "--json").json()["points"];
  ASSERT_EQ(points.size(), 3U * 2);
  for (const nlohmann::json& point : points) {
    const int ranks = point["ranks"];
    const double bytes = point["bytes"];
    const double expected_s = 2 * (ranks - 1) * (1e-6 + bytes / ranks / 1e9);
    EXPECT_NEAR(point["time_s"], expected_s, 1e-9 * expected_s) << point;
  }
  const std::string csv = expect_answer(question + "--csv").out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 3 * 2);
  const Outcome table = expect_answer(question, {"ranks", "closed form", "8 KiB"});
  EXPECT_EQ(table.out.find('\033'), std::string::npos);
  EXPECT_EQ(table.out, expect_answer(question).out);  // the same bytes again
}

TEST(CollectiveCommand, SuggestsTheNearest) {
  const std::string star = kOnStar;
  expect_refused(star + "--bytes 1MiB --chian-size 8",
                 {"--chian-size", "did you mean --chain-size?"});
  expect_refused(star + "--bytes 1MiB --op redcue", {"--op = redcue", "did you mean \"reduce\"?"});
  expect_refused(star + "--bytes 1MiB --op reduce --algorithm chian",
                 {"--algorithm = chian", "did you mean \"chain\"?"});
  expect_refused("collective --platform keshc --bytes 1MiB", {"did you mean \"kesch\"?"});
  expect_refused(star + "--bytes 1MiB --stack idael", {"--stack = idael", "\"ideal\"?"});
  expect_refused("collective --platform star:host=4,bandwidth=1GB/s,latency=1us --bytes 1MiB",
                 {"host", "did you mean \"hosts\"?"});
}

TEST(CollectiveCommand, RefusesWhatCannotBe) {
  const std::string star = kOnStar;
  expect_refused(star + "--ranks 161 --bytes 1MiB", {"--ranks = 161: must be <= 160", "star"});
  expect_refused(star + "--ranks 0 --bytes 1MiB", {"--ranks = 0: must be >= 1"});
  expect_refused(star + "--op reduce --algorithm chain --bytes 1MiB --chunk-bytes 0",
                 {"--chunk-bytes = 0: must be >= 1"});
  expect_refused(star + "--op reduce --algorithm cb --bytes 1MiB --chain-size 0",
                 {"--chain-size = 0: must be >= 1"});
  expect_refused(star + "--bytes 1MiB --chunk-bytes 4KiB", {"--chunk-bytes", "needs --algorithm"});
  expect_refused(star + "--bytes -1MiB", {"--bytes"});
  expect_refused(star + "--bytes 1.5B", {"--bytes = 1.5B: must be a whole number of bytes"});
  expect_refused(star + "--op reduce --bytes 1MiB --root 160", {"--root = 160", "160 ranks"});
  expect_refused("collective --platform star:hosts=4,bandwidth=1GB/s,latency=-1us --bytes 1MiB",
                 {"/latency = \"-1us\": must be >= 0"});
  expect_refused("collective --platform kesch --bytes 1MiB", {"--stack: is required"});
  expect_refused(star, {"--bytes is required"});
}

TEST(CollectiveCommand, RefusesATruncatedPlatform) {
  const Workshop workshop;
  const std::string text = text_of(source_file("topologies/presets/kesch.json"));
  for (const size_t share : {2U, 4U, 8U}) {
    const std::string file = workshop.file("cut.json", text.substr(0, text.size() / share));
    expect_refused("collective --platform " + file + " --bytes 1MiB", {file, "complete JSON"});
  }
}

struct Slice {
  double begin_us = 0;
  double end_us = 0;
};

// Slices of a thread follow each other or lie inside one another, to the nanosecond's thousandth.
bool nest(std::vector<Slice> slices) {
  constexpr double kRounding = 2e-6;
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return a.begin_us < b.begin_us || (a.begin_us == b.begin_us && a.end_us > b.end_us);
  });
  std::vector<Slice> open;
  for (const Slice& slice : slices) {
    while (!open.empty() && open.back().end_us <= slice.begin_us + kRounding) open.pop_back();
    if (!open.empty() && slice.end_us > open.back().end_us + kRounding) return false;
    open.push_back(slice);
  }
  return true;
}

// Four ranks are two nodes of cluster-b.
TEST(CollectiveCommand, TraceHasAProcessANodeAndSlicesThatNest) {
  const Workshop workshop;
  const std::string file = workshop.path("trace.json");
  expect_answer(
      "collective --platform cluster-b --stack ideal --op all-reduce --ranks 4 "
      "--bytes 1MiB --trace " +
      file);
  const nlohmann::json trace = parse_json(text_of(file));
  std::set<int> processes;
  std::map<std::pair<int, int>, std::vector<Slice>> threads;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") processes.insert(event["pid"].get<int>());
    if (event["ph"] != "X") continue;
    const double begin_us = event["ts"];
    threads[{event["pid"].get<int>(), event["tid"].get<int>()}].push_back(
        {begin_us, begin_us + event["dur"].get<double>()});
  }
  EXPECT_EQ(processes, (std::set<int>{0, 1}));
  EXPECT_GE(threads.size(), 4U);
  for (const auto& [thread, slices] : threads) {
    EXPECT_EQ(processes.count(thread.first), 1U);
    EXPECT_TRUE(nest(slices)) << "process " << thread.first << " thread " << thread.second;
  }
}

// A platform whose link was measured with an interval: b/11e9 .. b/8e9 at its ends, of which the
// joint share is taken, and what is not modelled beside.
TEST(CollectiveCommand, CarriesTheIntervalOfItsInputs) {
  const Workshop workshop;
  const std::string platform = workshop.file("p.json", R"({
    "format": "forescale-platform-1", "name": "p", "source": "made up",
    "node": {"count": 2, "layout": "host"},
    "fabric": {"layout": "explicit", "switches": ["s"], "links": [
      {"from": "host0", "to": "s", "class": {"latency_s": 0, "bandwidth_bytes_per_s":
        {"value": 10e9, "source": "measured", "fast": 11e9, "slow": 8e9}}},
      {"from": "host1", "to": "s", "class": {"latency_s": 0, "bandwidth_bytes_per_s": 99e9}}
    ]}})");
  const std::string question = "collective --platform " + platform +
                               " --stack ideal --op broadcast --algorithm flat --bytes 1GB ";
  const nlohmann::json answer = expect_answer(question + "--interval --json").json();
  EXPECT_NEAR(answer["time_s"], 1e9 / 10e9, 1e-9);
  Answer of_a_full_wire{.about = Question::About::kCollective, .nodes = 2};
  of_a_full_wire.collective.busiest_share = 1;
  const Unmodelled left_out = unmodelled(of_a_full_wire);
  const double below = std::hypot(kJointShare * std::log(11 / 10.0), std::log1p(-left_out.faster));
  const double above = std::hypot(kJointShare * std::log(10 / 8.0), std::log1p(left_out.slower));
  EXPECT_NEAR(answer["low_s"], 0.1 * std::exp(-below), 1e-9);
  EXPECT_NEAR(answer["high_s"], 0.1 * std::exp(above), 1e-9);
  EXPECT_FALSE(expect_answer(question + "--json").json().contains("low_s"));
  expect_answer(question + "--interval",
                {"interval", fmt::format("{:.4g} ms .. ", 100 * std::exp(-below))});
}

TEST(CollectiveCommand, TraceIsOfOneQuestion) {
  expect_refused(std::string(kOnStar) + "--bytes 1MiB..2MiB --trace t.json",
                 {"--trace", "one size"});
  expect_refused(
      "collective --platform star:hosts=2,bandwidth=1GB/s,latency=1us --bytes 1KiB "
      "--trace /nowhere/t.json",
      {"--trace = /nowhere/t.json: cannot be written"});
}

// Ranks on any slots; the first ones are no special case.
TEST(CollectiveCommand, RunsOnTheSlotsThatAreNamed) {
  const std::string question = "collective --platform dgx-h100 --stack nccl-2.23-h100 --json ";
  const nlohmann::json first = expect_answer(question + "--bytes 8MiB --ranks 4").json();
  nlohmann::json named = expect_answer(question + "--bytes 8MiB --slots 0,1,2,3").json();
  EXPECT_EQ(named["command"],
            "forescale collective --platform dgx-h100 --stack nccl-2.23-h100 --slots 0,1,2,3 "
            "--bytes 8MiB");
  named["command"] = first["command"];
  EXPECT_EQ(named, first);
  const nlohmann::json apart = expect_answer(question + "--bytes 8MiB --slots 0,8,16,24").json();
  EXPECT_EQ(apart["ranks"], 4);
  EXPECT_GT(apart["simulated_s"], first["simulated_s"]);
  expect_refused(question + "--bytes 8MiB --slots 0,8 --ranks 2", {"--slots", "beside --ranks"});
  expect_refused(question + "--bytes 8MiB --slots 0,0", {"--slots = 0", "each once"});
  expect_refused(question + "--bytes 8MiB --slots 0,256", {"--slots = 256", "0 to 255"});
}

// Two GPUs of a p4de node share an adapter: one group of each pair takes as long as both.
TEST(CollectiveCommand, SplitsRanksIntoGroupsAtOnce) {
  const std::string question = "collective --platform aws-p4de --json --bytes 256MiB ";
  const nlohmann::json alone = expect_answer(question + "--slots 0,8,16,24").json();
  const nlohmann::json both = expect_answer(question + "--slots 0,8,16,24+1,9,17,25").json();
  const nlohmann::json all = expect_answer(question + "--ranks 32 --split mod8").json();
  EXPECT_EQ(both["groups"], 2);
  EXPECT_EQ(all["groups"], 8);
  EXPECT_EQ(all["groups_simulated"], 2);
  EXPECT_EQ(all["ranks"], 4);
  EXPECT_EQ(all["time_s"], both["time_s"]);
  EXPECT_NEAR(both["time_s"].get<double>() / alone["time_s"].get<double>(), 2, 0.02);
  EXPECT_FALSE(alone.contains("groups"));
  expect_answer("collective --platform aws-p4de --bytes 1MiB --ranks 32 --split mod8",
                {"8 groups call at once; 2 of them share links"});
  expect_refused(question + "--slots 0,8+1", {"--slots = 0,8+1", "groups of one size"});
  expect_refused(question + "--slots 0,8+8,16", {"--slots = 8", "each once"});
  expect_refused(question + "--slots 0,8 --split mod2", {"--slots", "beside --split"});
  expect_refused(question + "--ranks 20 --split mod8", {"--split = 8", "must divide the 20 ranks"});
  expect_refused(question + "--ranks 16 --split \"and 7\"", {"--split = and 7", "mod8"});
}

// 466 chunks of each of 16 parts, on links that are shared.
TEST(CollectiveCommand, SaysHowNearAFewChunksAre) {
  expect_answer(
      "collective --platform dgx-h100 --stack nccl:take=tree/ll128 --plan all-reduce --ranks 32 "
      "--bytes 4GiB --no-range",
      {"32 ranks, 4 GiB: a few of many like messages simulated in place of all, within 0.1 %"});
}

TEST(CollectiveCommand, TakesAPlanInOneWordOrSpelledOut) {
  const std::string question =
      "collective --platform star:hosts=16,bandwidth=1GB/s,latency=1us --ranks 16 --bytes 1MiB "
      "--json ";
  const auto answer_to = [&question](const std::string& plan) {
    nlohmann::json answer = expect_answer(question + plan).json();
    answer.erase("command");  // as typed
    return answer;
  };
  EXPECT_EQ(answer_to("--plan reduce/cb:chain_size=4,chunk_bytes=64KiB"),
            answer_to("--op reduce --algorithm cb --chain-size 4 --chunk-bytes 64KiB"));
  // An operation alone is the stack's choice, as the command that repeats an answer says it.
  EXPECT_EQ(answer_to("--plan reduce"), answer_to("--op reduce"));
  expect_refused(question + "--plan reduce/cb --op broadcast", {"--plan", "no plan for broadcast"});
  expect_refused(question + "--plan reduce --op broadcast", {"--plan", "no plan for broadcast"});
  expect_refused(question + "--plan reduce --chain-size 4", {"--plan", "beside --chain-size"});
  expect_refused(question + "--plan reduce/cb --chain-size 4", {"--plan", "beside --chain-size"});
}

}  // namespace
}  // namespace forescale::testing
