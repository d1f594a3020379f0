#include <cmath>
#include <set>

#include "studies/crossover/crossover_search.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;

constexpr double kAlpha_s = 1e-6;
constexpr double kBytesPerS = 12.5e9;
constexpr const char* kCrossoverOnStar =
    "crossover --platform star:hosts=160,bandwidth=12.5GB/s,latency=1us ";
constexpr const char* kKesch = "crossover --platform kesch --stack mvapich2-gdr ";

// The smallest whole n with (n + P - 2) t(c) < K t(n c), t(b) = alpha + b / bandwidth and
// K = ceil(log2 P): n (K wire - t(c)) > (P - 2) t(c) - K alpha, wire being c / bandwidth.
int chunks_by_equations(int ranks, double chunk_bytes) {
  const double rounds = std::ceil(std::log2(ranks));
  const double wire_s = chunk_bytes / kBytesPerS;
  const double step_s = kAlpha_s + wire_s;
  const double chunks = ((ranks - 2) * step_s - rounds * kAlpha_s) / (rounds * wire_s - step_s);
  return static_cast<int>(std::floor(chunks)) + 1;
}

double simulated_s(const std::string& algorithm, int ranks, std::int64_t bytes) {
  return expect_answer(
             "collective --platform star:hosts=160,bandwidth=12.5GB/s,latency=1us "
             "--op reduce --engine sim --json --algorithm " +
             algorithm + " --ranks " + std::to_string(ranks) + " --bytes " + std::to_string(bytes) +
             (algorithm == "chain" ? " --chunk-bytes 1MiB" : ""))
      .json()["time_s"];
}

// S-Caffe's equations 1 and 2, the cost engine and the simulator: the same whole chunk.
TEST(Crossover, ThreeModelsAgreeOnAnIdealStar) {
  const json points =
      expect_answer(std::string(kCrossoverOnStar) + "--chunk-bytes 256KiB,1MiB --json")
          .json()["points"];
  ASSERT_EQ(points.size(), 7U * 2);  // 4 8 16 32 64 128 160
  for (const json& point : points) {
    const int chunks = chunks_by_equations(point["ranks"], point["chunk_bytes"]);
    for (const char* model : {"equations", "cost_engine", "simulator"}) {
      EXPECT_EQ(point[model]["verdict"], "starts") << model;
      EXPECT_EQ(point[model]["chunks"], chunks) << model << " " << point["ranks"];
      EXPECT_EQ(point[model]["bytes"], chunks * point["chunk_bytes"].get<int>()) << model;
    }
    EXPECT_NE(point["explanation"].get<std::string>().find("agree"), std::string::npos);
  }
}

TEST(Crossover, SimulatedJustBelowAndJustAbove) {
  constexpr std::int64_t kMiB = 1 << 20;
  for (const int ranks : {16, 160}) {
    const int chunks = chunks_by_equations(ranks, kMiB);
    EXPECT_GE(simulated_s("chain", ranks, (chunks - 1) * kMiB),
              simulated_s("binomial", ranks, (chunks - 1) * kMiB));
    EXPECT_LT(simulated_s("chain", ranks, chunks * kMiB),
              simulated_s("binomial", ranks, chunks * kMiB));
  }
}

// Two ranks have one transfer: cutting it into chunks only adds alphas.
TEST(Crossover, SaysAlwaysAndNever) {
  const json two =
      expect_answer(std::string(kCrossoverOnStar) + "--ranks 2 --chunk-bytes 1MiB --json")
          .json()["points"][0];
  for (const char* model : {"equations", "cost_engine", "simulator"})
    EXPECT_EQ(two[model]["verdict"], "never") << model;
  EXPECT_TRUE(two["simulator"]["bytes"].is_null());
  const json large = expect_answer(std::string(kCrossoverOnStar) +
                                   "--ranks 8 --chunk-bytes 1MiB --bytes 64MiB..1GiB --json")
                         .json()["points"][0];
  EXPECT_EQ(large["simulator"]["verdict"], "always");
  expect_answer(std::string(kCrossoverOnStar) + "--ranks 2 --chunk-bytes 1MiB", {"never"});
  expect_answer(std::string(kCrossoverOnStar) + "--ranks 8 --chunk-bytes 1MiB --bytes 64MiB..1GiB",
                {"always"});
}

TEST(Crossover, TheOtherWayRoundItStops) {
  const std::string question = std::string(kCrossoverOnStar) + "--ranks 16 --chunk-bytes 1MiB ";
  const json point =
      expect_answer(question + "--algorithms binomial,chain --json").json()["points"][0];
  EXPECT_EQ(point["simulator"]["verdict"], "stops");
  EXPECT_EQ(point["simulator"]["chunks"], chunks_by_equations(16, 1 << 20));
  expect_answer(question + "--algorithms binomial,chain", {"until 5 MiB (5)"});
}

// Overheads, staging and reduction kernels move it; the terms are reported one by one.
TEST(Crossover, OnAClusterItSaysWhatMovesIt) {
  const json point = expect_answer(std::string(kKesch) + "--ranks 160 --chunk-bytes 256KiB --json")
                         .json()["points"][0];
  EXPECT_FALSE(point["step"]["common"].get<bool>());
  ASSERT_EQ(point["step"]["terms"].size(), 4U);
  EXPECT_EQ(point["step"]["terms"][0]["crossing"], point["equations"]);
  EXPECT_GT(point["reduce_s_per_chunk"], 0);
  EXPECT_GT(point["cost_engine"]["bytes"], point["equations"]["bytes"]);
  std::set<std::string> mechanisms;
  for (const json& rule : point["lane_rules"])
    mechanisms.insert(rule["where"].get<std::string>() + " " +
                      rule["mechanism"].get<std::string>());
  EXPECT_EQ(mechanisms,
            (std::set<std::string>{"peer direct", "cross-socket staged", "inter-node staged"}));
  const std::string text = point["explanation"];
  for (const char* word : {"per-message overheads", "staging", "own lane", "contention", "busy"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
  for (const json& one : point["contention"])
    EXPECT_GE(one["simulated_s"].get<double>(), one["cost_engine_s"].get<double>() * (1 - 1e-9));
}

// Halving-doubling crosses nodes with all ranks at the same time, through few network cards; a ring
// has one message a node on the way.
TEST(Crossover, ContentionMovesItAndNamesTheBusiest) {
  const json point = expect_answer(std::string(kKesch) +
                                   "--op all-reduce --algorithms ring,halving-doubling --ranks 160 "
                                   "--chunk-bytes 1MiB --json")
                         .json()["points"][0];
  EXPECT_LT(point["simulator"]["at_bytes"], point["cost_engine"]["at_bytes"]);
  const json& doubling = point["contention"][1];
  EXPECT_EQ(doubling["algorithm"], "halving-doubling");
  EXPECT_GT(doubling["simulated_s"].get<double>(), 2 * doubling["cost_engine_s"].get<double>());
  const std::string text = point["explanation"];
  EXPECT_NE(text.find("contention"), std::string::npos);
  EXPECT_NE(text.find(doubling["busiest"].get<std::string>()), std::string::npos);
}

TEST(Crossover, PrintsTablesAndCsvTheSameEveryTime) {
  const std::string question = std::string(kCrossoverOnStar) + "--ranks 4,8 --chunk-bytes 1MiB ";
  const Outcome table =
      expect_answer(question, {"ranks", "equations", "cost engine", "simulator", "3 MiB (3)"});
  EXPECT_EQ(table.out, expect_answer(question).out);
  EXPECT_EQ(expect_answer(question + "--csv --engine cost").out,
            "ranks,chunk_bytes,equations_verdict,equations_bytes,cost_engine_verdict,"
            "cost_engine_bytes,simulator_verdict,simulator_bytes\n"
            "4,1048576,starts,3145728,starts,3145728,,\n"
            "8,1048576,starts,4194304,starts,4194304,,\n");
}

TEST(Crossover, RefusesWhatCannotBe) {
  const std::string star = kCrossoverOnStar;
  expect_refused(star + "--algorithms chain", {"--algorithms = chain", "two algorithms"});
  expect_refused(star + "--algorithms chain,chain", {"--algorithms", "different"});
  expect_refused(star + "--algorithms chian,binomial", {"did you mean \"chain\"?"});
  expect_refused(star + "--ranks 1", {"--ranks = 1: must be >= 2"});
  expect_refused(star + "--ranks 161", {"--ranks = 161: must be <= 160"});
  expect_refused(star + "--chunk-bytes 0", {"--chunk-bytes", "must be >= 1"});
  expect_refused(star + "--bytes 1MiB", {"--bytes = 1MiB", "interval"});
  expect_refused("crossover --platform kesch", {"--stack: is required"});
}

// The cost engine knows no shaped links: it is left out here as in `collective --engine cost`, and
// no link is busy for longer than the whole lasts.
TEST(Crossover, LeavesTheCostEngineOutOnShapedLinks) {
  const Workshop workshop;
  const std::string platform = workshop.file("shaped.json", R"({
    "format": "forescale-platform-1", "name": "shaped", "source": "made up",
    "node": {"count": 4, "layout": "host"},
    "fabric": {"layout": "star", "link": {"bandwidth_bytes_per_s": 1e6, "latency_s": 0.001,
                                          "burst_bytes": 1000000}}})");
  const json point = expect_answer("crossover --platform " + platform +
                                   " --stack ideal --ranks 4 --chunk-bytes 64KiB "
                                   "--bytes 64KiB..4MiB --json")
                         .json()["points"][0];
  EXPECT_TRUE(point["cost_engine"].is_null()) << point["cost_engine"];
  for (const json& one : point["contention"]) {
    EXPECT_TRUE(one["cost_engine_s"].is_null());
    EXPECT_LE(one["busiest_share"], 1 + 1e-9);
  }
  expect_refused("collective --platform " + platform + " --stack ideal --bytes 1MiB --engine cost",
                 {"--engine = cost", "cannot price shaped links"});
}

TEST(Crossover, TakesPlansAsOtherCommandsDo) {
  const std::string question =
      std::string(kCrossoverOnStar) + "--ranks 16 --chunk-bytes 1MiB --engine cost ";
  json named = expect_answer(question + "--plans reduce/chain reduce/binomial --json").json();
  const std::string line = named["command"];  // "forescale crossover ..."
  EXPECT_EQ(expect_answer(line.substr(line.find(' ') + 1) + " --json").json(), named);
  json spelled_out = expect_answer(question + "--json").json();
  named.erase("command");
  spelled_out.erase("command");
  EXPECT_EQ(named, spelled_out);
  expect_refused(question + "--plans reduce/chain", {"--plans", "two plans of one operation"});
  expect_refused(question + "--plans reduce/chain broadcast/chain", {"two plans of one operation"});
  expect_answer(question + "--plans reduce/cb:chain_size=2 reduce/cb:chain_size=8",
                {"reduce/cb:chain_size=2"});
}

// x^2 > 1000 from x = 32 on; the guesses are right, near, far and none.
TEST(CrossoverSearch, FindsTheFirstOnTheFarSideFromAnyGuess) {
  int asked = 0;
  const Beats beats = [&](std::int64_t chunks) {
    ++asked;
    return chunks * chunks > 1000;
  };
  const Crossing expected{.verdict = Verdict::kStarts, .chunks = 32};
  EXPECT_EQ(find_crossing({1, 4096}, beats), expected);
  asked = 0;
  EXPECT_EQ(find_crossing_near({1, 4096}, expected, beats), expected);
  EXPECT_EQ(asked, 2);
  for (const std::int64_t guess : {1, 2, 31, 33, 500, 4096})
    EXPECT_EQ(find_crossing_near({1, 4096}, {Verdict::kStarts, guess}, beats), expected) << guess;
  EXPECT_EQ(find_crossing_near({1, 4096}, {Verdict::kNever, 4096}, beats), expected);
  EXPECT_EQ(find_crossing({1, 31}, beats).verdict, Verdict::kNever);
  EXPECT_EQ(find_crossing_near({1, 31}, expected, beats).verdict, Verdict::kNever);
  EXPECT_EQ(find_crossing_near({40, 90}, {Verdict::kStarts, 60}, beats).verdict, Verdict::kAlways);
}

}  // namespace
}  // namespace forescale::testing
