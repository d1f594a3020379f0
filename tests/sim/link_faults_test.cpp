// What slow, rerouted and lost links do to collectives, and that nobody answers without them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/ask/ask.hpp"
#include "sim/cost_engine.hpp"
#include "sim/folded.hpp"
#include "tests/sim/simulations.hpp"
#include "topologies/link_faults.hpp"

namespace forescale::testing {
namespace {

using ::testing::HasSubstr;

Question ring(const std::string& platform, int ranks, std::map<std::string, std::string> links) {
  return {.about = Question::About::kCollective,
          .platform = platform,
          .stack = "ideal",
          .plan = "all-reduce/ring",
          .ranks = {ranks},
          .bytes = {64'000'000},
          .links = std::move(links)};
}

double faulty_s(const Question& question, Engines engines = Engines::kSimulator) {
  Asker asker;
  return asker.ask({question}, {.label = "", .engines = engines}).front().nominal.time_s();
}

constexpr double kRelative = 1e-9;

// 2 (n - 1) steps of n-th parts, each as long as on the slowest link.
TEST(LinkFaults, ARingIsAsSlowAsItsSlowestLink) {
  const std::string star = "star:hosts=8,bandwidth=10GB/s,latency=1us";
  const double step_s = 8e6 / 10e9;
  const double whole_s = faulty_s(ring(star, 8, {}));
  EXPECT_NEAR(whole_s, 14 * (1e-6 + step_s), kRelative * whole_s);
  const double slow_s = faulty_s(ring(star, 8, {{"host5", "0.25"}}));
  EXPECT_NEAR(slow_s, 14 * (1e-6 + 4 * step_s), kRelative * slow_s);
  EXPECT_NEAR(faulty_s(ring(star, 8, {{"host5", "0.25"}}), Engines::kCostEngine), slow_s,
              kRelative * slow_s);
  // One that the ring does not cross.
  EXPECT_DOUBLE_EQ(faulty_s(ring(star, 4, {{"host5", "0.25"}})), faulty_s(ring(star, 4, {})));
}

// Sixteen hosts on four leaves with an uplink to each of two top switches. In a ring one message
// leaves each leaf; in an all-to-all what leaves leaf0 shares one uplink in place of two.
TEST(LinkFaults, TrafficOfALinkThatIsDownSharesTheOthers) {
  const std::string tree = "fat-tree:down=4x4,up=2,bandwidth=10GB/s,latency=1us";
  Question question = ring(tree, 16, {{"leaf0--spine0", "down"}});
  EXPECT_DOUBLE_EQ(faulty_s(question), faulty_s(ring(tree, 16, {})));
  for (Question* each : {&question}) each->plan = "all-to-all/pairwise";
  Question whole = question;
  whole.links.clear();
  EXPECT_GT(faulty_s(question), 1.2 * faulty_s(whole));
}

TEST(LinkFaults, WhatIsLostEndsTheSimulationAndSaysWhere) {
  const std::string text = error_in_child<SimulationStuck>([] {
    faulty_s(ring("star:hosts=4,bandwidth=10GB/s,latency=1us", 4, {{"host2", "lost"}}));
  });
  EXPECT_THAT(text, HasSubstr("from rank 1 to rank 2 are lost on hub0 -> host2"));
  // Nobody crosses it.
  const std::string star = "star:hosts=4,bandwidth=10GB/s,latency=1us";
  EXPECT_DOUBLE_EQ(faulty_s(ring(star, 2, {{"host2", "lost"}})), faulty_s(ring(star, 2, {})));
  // The cost engine prices no message that never arrives.
  EXPECT_THAT(error_in_child<InputError>([&] {
                faulty_s(ring(star, 4, {{"host2", "lost"}}), Engines::kCostEngine);
              }),
              HasSubstr("cannot price links that are lost"));
}

// Few nodes stand for all where one or two are unlike the others.
TEST(LinkFaults, AFewNodesAreFoldedBesideThem) {
  const Stack stack = load_stack("ideal");
  const auto reason = [&](const std::map<std::string, std::string>& links) {
    Platform platform = load_platform("star:hosts=128,bandwidth=10GB/s,latency=1us");
    apply_link_faults(platform, links, "--link");
    const Lanes lanes(platform, stack);
    const PlanChoice plan = parse_plan("all-reduce/ring", "test");
    return why_not_folded(
        resolve(lanes, shared_first_slots(platform, 128),
                {.op = CollectiveOp::kAllReduce, .bytes = 1 << 20, .plan = &plan}));
  };
  EXPECT_EQ(reason({}), "");
  EXPECT_EQ(reason({{"host77", "0.5"}, {"host3", "0.1"}}), "");
  EXPECT_THAT(reason({{"host77", "0.5"}, {"host3", "0.1"}, {"host4", "0.1"}}),
              HasSubstr("several nodes"));
  EXPECT_THAT(reason({{"host77", "lost"}}), HasSubstr("are lost"));
  const double slow_s =
      faulty_s(ring("star:hosts=128,bandwidth=10GB/s,latency=1us", 128, {{"host77", "0.5"}}));
  const double fast_s = faulty_s(ring("star:hosts=128,bandwidth=10GB/s,latency=1us", 128, {}));
  EXPECT_NEAR(slow_s / fast_s, (1e-6 + 2 * 5e5 / 10e9) / (1e-6 + 5e5 / 10e9), 1e-6);
}

}  // namespace
}  // namespace forescale::testing
