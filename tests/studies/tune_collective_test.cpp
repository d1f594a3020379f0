// The search for the best plan against an exhaustive one, and the regions that are made of answers.
#include "studies/tune/tune_collective.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "algorithms/common_options.hpp"
#include "base/error.hpp"
#include "studies/tune/plan_bounds.hpp"

namespace forescale {
namespace {

using ::testing::Le;
using ::testing::SizeIs;

constexpr double kMs = 1e-3;

const std::vector<CollectiveOp>& all_ops() {
  static const std::vector<CollectiveOp> ops = [] {
    std::vector<CollectiveOp> found;
    for (const Collective* collective : all_collectives())
      if (std::find(found.begin(), found.end(), collective->op) == found.end())
        found.push_back(collective->op);
    return found;
  }();
  return ops;
}

class Tuned : public ::testing::TestWithParam<CollectiveOp> {};
INSTANTIATE_TEST_SUITE_P(EveryOperation, Tuned, ::testing::ValuesIn(all_ops()),
                         [](const auto& one) {
                           std::string name = name_of(one.param);
                           std::erase(name, '-');
                           return name;
                         });

// What serves 6 or 8 ranks is tried on one of them.
TEST_P(Tuned, EveryRegisteredAlgorithmIsACandidate) {
  std::set<std::string> tried;
  for (const int ranks : {6, 8})
    for (const PlanChoice& plan :
         tune_candidates({.op = GetParam(), .ranks = ranks, .bytes = 1 << 20}))
      tried.insert(plan.collective->algorithm);
  for (const Collective* collective : all_collectives())
    if (collective->op == GetParam()) {
      EXPECT_EQ(tried.count(collective->algorithm), 1U) << collective->algorithm;
    }
}

TEST_P(Tuned, CandidatesDifferAndHaveFewChunks) {
  const std::int64_t bytes = std::int64_t{256} << 20;
  std::set<std::string> seen;
  for (const PlanChoice& plan : tune_candidates({.op = GetParam(), .ranks = 8, .bytes = bytes})) {
    EXPECT_TRUE(seen.insert(plan_text(plan)).second) << plan_text(plan);
    if (const std::int64_t chunk = plan.options.number(kChunkBytes); chunk > 0) {
      EXPECT_THAT(bytes / chunk, Le(kChunksMax)) << plan_text(plan);
    }
  }
}

// Nodes of 8 GPUs that share a NIC mis-rank without contention; slow hosts and bursts have no
// closed form.
TEST_P(Tuned, IsTheBestOfAllCandidatesSimulated) {
  for (const auto& [platform, stack] :
       {std::pair("star:hosts=6,bandwidth=1GB/s,latency=5us", ""),
        std::pair("kesch", "mvapich2-gdr"), std::pair("minsky", "nccl-2.3")})
    for (const std::int64_t bytes : {4096L, 1L << 20}) {
      const MachineScenarios machine = {load_machines(platform, stack).front()};
      const TuneQuestion question{.op = GetParam(), .ranks = 6, .bytes = bytes};
      SCOPED_TRACE(std::string(platform) + ", " + std::to_string(bytes));
      const std::vector<TunedPoint> tuned =
          tune_collective({question}, machine, nullptr, 0.01, {}, [](const TunedPoint&) {});
      ASSERT_THAT(tuned, SizeIs(1));
      const TunedChoice& known = tuned.front().known;

      std::vector<CollectiveQuestion> asked;
      for (const PlanChoice& plan : tune_candidates(question))
        asked.push_back({.plan = plan, .ranks = question.ranks, .bytes = bytes});
      const std::vector<TimeRange> times = predict_collectives(asked, machine);
      const PlanBounds bounds(question, machine.front());
      const std::uint64_t best_plan = bounds.fingerprint(parse_plan(known.best.plan, "plan"));
      std::set<std::string> have_it;
      for (const CollectiveQuestion& one : asked)
        if (bounds.fingerprint(one.plan) == best_plan)
          have_it.insert(one.plan.collective->algorithm);
      double best_s = INFINITY;
      double next_s = INFINITY;
      for (size_t i = 0; i < asked.size(); ++i) {
        best_s = std::min(best_s, times[i].time_s);
        if (have_it.count(asked[i].plan.collective->algorithm) == 0)
          next_s = std::min(next_s, times[i].time_s);
      }
      EXPECT_EQ(known.best.time.time_s, best_s) << known.best.plan;
      if (known.next)
        EXPECT_EQ(known.next->time.time_s, next_s) << known.next->plan;
      else
        EXPECT_EQ(next_s, INFINITY);
      EXPECT_EQ(tuned.front().candidates, static_cast<int>(asked.size()));
      EXPECT_THAT(tuned.front().simulated, Le(tuned.front().candidates));
    }
}

// Lower than what is simulated, that of messages also where it gives up early; bytes are the same
// however they are cut into chunks.
TEST_P(Tuned, BoundsAreBelowTheTime) {
  for (const auto& [platform, stack] : {std::pair("star:hosts=6,bandwidth=1GB/s,latency=5us", ""),
                                        std::pair("kesch", "mvapich2-gdr")}) {
    const MachineScenarios machine = {load_machines(platform, stack).front()};
    const TuneQuestion question{.op = GetParam(), .ranks = 6, .bytes = 1 << 20};
    PlanBounds bounds(question, machine.front());
    std::vector<CollectiveQuestion> asked;
    for (const PlanChoice& plan : tune_candidates(question))
      asked.push_back({.plan = plan, .ranks = question.ranks, .bytes = question.bytes});
    const std::vector<TimeRange> times = predict_collectives(asked, machine);
    for (size_t i = 0; i < asked.size(); ++i) {
      const PlanChoice& plan = asked[i].plan;
      SCOPED_TRACE(plan_text(plan));
      const double most_s = times[i].time_s * (1 + 1e-9);
      EXPECT_LE(bounds.of_bytes(plan), most_s);
      const double to_the_end_s = bounds.of_messages(plan, INFINITY);
      EXPECT_LE(to_the_end_s, most_s);
      EXPECT_LE(bounds.of_ports(plan), most_s);
      const double given_up_s = bounds.of_messages(plan, to_the_end_s / 3);
      EXPECT_LE(given_up_s, to_the_end_s);
      if (to_the_end_s > 0) {
        EXPECT_GT(given_up_s, to_the_end_s / 3);
      }
    }
  }
}

// Also a last chunk that is shorter, and eager messages, which are copied on each side.
TEST_P(Tuned, PortsTakeNoLongerThanTheMessages) {
  for (const auto& [platform, stack] :
       {std::pair("star:hosts=16,bandwidth=1GB/s,latency=5us", ""),
        std::pair("kesch", "mvapich2-gdr"),
        std::pair("star:hosts=16,bandwidth=1GB/s,latency=5us", "mpi-host-edr")}) {
    const MachineScenarios machine = {load_machines(platform, stack).front()};
    for (const int ranks : {3, 8, 16})
      for (const std::int64_t bytes : {1L, 4096L, 100'003L, 1L << 20}) {
        const TuneQuestion question{.op = GetParam(), .ranks = ranks, .bytes = bytes};
        PlanBounds bounds(question, machine.front());
        for (const PlanChoice& plan : tune_candidates(question)) {
          SCOPED_TRACE(
              fmt::format("{}, {}, {} ranks, {} bytes", plan_text(plan), platform, ranks, bytes));
          EXPECT_LE(bounds.of_ports(plan), bounds.of_messages(plan, INFINITY) * (1 + 1e-9));
        }
      }
  }
}

// Three messages into one port; four chunks into each port of a chain. The root of one of a
// node has its neighbour on its own socket.
TEST(PlanBounds, OfPortsIsWhatTheBusiestOneNeeds) {
  const MachineScenarios machine = load_machines("star:hosts=4,bandwidth=1GB/s,latency=5us", "");
  PlanBounds bounds({.op = CollectiveOp::kReduce, .ranks = 4, .bytes = 3'500'000}, machine.front());
  const auto of = [&](const std::string& plan) {
    return bounds.of_ports(parse_plan(plan, "plan"));
  };
  EXPECT_NEAR(of("reduce/flat"), 3 * (5e-6 + 3.5e-3), 1e-12);
  EXPECT_NEAR(of("reduce/chain:chunk_bytes=1000000"), 4 * 5e-6 + 3.5e-3, 1e-12);

  const MachineScenarios nodes = load_machines("kesch", "mvapich2-gdr");
  const auto of_chain = [&](int ranks) {
    PlanBounds of_nodes({.op = CollectiveOp::kReduce, .ranks = ranks, .bytes = 1 << 24},
                        nodes.front());
    return of_nodes.of_ports(parse_plan("reduce/chain:chunk_bytes=1048576", "plan"));
  };
  EXPECT_GT(of_chain(16), of_chain(2) * 1.1);
}

TEST(PlanBounds, OnePlanUnderTwoNamesHasOneFingerprint) {
  const MachineScenarios machine = load_machines("star:hosts=16,bandwidth=1GB/s,latency=5us", "");
  const PlanBounds bounds({.op = CollectiveOp::kReduce, .ranks = 16, .bytes = 1 << 20},
                          machine.front());
  const auto of = [&](const std::string& plan) {
    return bounds.fingerprint(parse_plan(plan, "plan"));
  };
  EXPECT_EQ(of("reduce/cc:chain_size=4,chunk_bytes=64KiB"),
            of("reduce/hierarchical:chunk_bytes=64KiB,levels=chain:4+chain"));
  EXPECT_NE(of("reduce/cc:chain_size=4,chunk_bytes=64KiB"),
            of("reduce/cc:chain_size=4,chunk_bytes=128KiB"));
  EXPECT_NE(of("reduce/cc:chain_size=4"), of("reduce/cc:chain_size=8"));
}

TEST(TuneCollective, TheNextIsNotTheBestUnderAnotherName) {
  const MachineScenarios machine = load_machines("star:hosts=16,bandwidth=1GB/s,latency=5us", "");
  const OfferedPlans offered = [](const TuneQuestion&) {
    return std::vector{
        parse_plan("reduce/cc:chain_size=4,chunk_bytes=64KiB", "plan"),
        parse_plan("reduce/hierarchical:chunk_bytes=64KiB,levels=chain:4+chain", "plan"),
        parse_plan("reduce/flat", "plan")};
  };
  const TunedPoint point =
      tune_collective({{.op = CollectiveOp::kReduce, .ranks = 16, .bytes = 1 << 20}}, machine,
                      offered, 0.01, {}, [](const TunedPoint&) {})
          .front();
  ASSERT_TRUE(point.offered && point.offered->next);
  EXPECT_EQ(point.offered->best.plan, "reduce/cc:chain_size=4,chunk_bytes=64KiB");
  EXPECT_EQ(point.offered->next->plan, "reduce/flat");
}

const TuneQuestion kQuestion{.op = CollectiveOp::kAllReduce, .ranks = 4, .bytes = 65536};

TEST(TuneCollective, WhatALibraryLacksIsNotOfferedForIt) {
  const MachineScenarios machine = load_machines("star:hosts=4,bandwidth=1GB/s,latency=5us", "");
  const OfferedPlans offered = [](const TuneQuestion&) {
    return std::vector{parse_plan("all-reduce/ring", "plan"),
                       parse_plan("all-reduce/recursive-doubling", "plan")};
  };
  const std::vector<TunedPoint> points =
      tune_collective({kQuestion}, machine, offered, 0.01, {}, [](const TunedPoint&) {});
  ASSERT_TRUE(points.front().offered);
  EXPECT_THAT(points.front().offered->best.plan,
              ::testing::AnyOf("all-reduce/ring", "all-reduce/recursive-doubling"));
  EXPECT_GE(points.front().known.margin(points.front().offered->best), 0);
}

TEST(TuneCollective, WhatIsAnsweredIsNotAskedAgain) {
  const MachineScenarios machine = load_machines("star:hosts=4,bandwidth=1GB/s,latency=5us", "");
  TunedPoint answered{.question = kQuestion};
  answered.known.best = {.plan = "all-reduce/ring", .time = {1, 1, 1}};
  const TuneQuestion other{.op = CollectiveOp::kAllReduce, .ranks = 4, .bytes = 4096};
  const std::vector<TunedPoint> points = tune_collective({kQuestion, other}, machine, nullptr, 0.01,
                                                         {answered}, [](const TunedPoint&) {});
  EXPECT_EQ(points.at(0).known.best.time.time_s, 1);
  EXPECT_EQ(points.at(1).question, other);
  EXPECT_LT(points.at(1).known.best.time.time_s, 1);
}

TEST(TunedPoint, ReadsWhatItWrites) {
  TunedPoint point{.question = kQuestion, .candidates = 9, .simulated = 4};
  point.known.best = {.plan = "all-reduce/ring", .time = {2, 1, 3}};
  point.known.next = {.plan = "all-reduce/reduce-broadcast", .time = {4, 3.5, 5}};
  point.known.near = {{"all-reduce/ring", 2}, {"all-reduce/x", 2.1}};
  point.offered = point.known;
  point.stack_default = {.plan = "", .time = {3, 3, 3}};
  const nlohmann::json text = point;
  EXPECT_EQ(nlohmann::json(text.get<TunedPoint>()), text);
  EXPECT_EQ(text["known"]["next"]["margin"], 1.0);
  EXPECT_EQ(text["default"]["margin"], 0.5);
  EXPECT_EQ(text["offered"]["loss"], 0.0);
}

TEST(TunedChoice, ATieIsWhatUncertainNumbersCanTurnRound) {
  const TunedChoice choice{.best = {.plan = "a", .time = {10, 9, 12}}};
  EXPECT_FALSE(choice.is_tie({.plan = "b", .time = {13, 12.5, 14}}));
  EXPECT_TRUE(choice.is_tie({.plan = "b", .time = {10, 9, 12}}));     // as fast
  EXPECT_TRUE(choice.is_tie({.plan = "b", .time = {13, 8.5, 14}}));   // faster at its fast end
  EXPECT_TRUE(choice.is_tie({.plan = "b", .time = {10.5, 10, 11}}));  // faster at the slow ends
}

TunedPoint point_of(int ranks, std::int64_t bytes, const std::map<std::string, double>& times_ms) {
  TunedPoint point{.question = {.op = CollectiveOp::kAllReduce, .ranks = ranks, .bytes = bytes}};
  const auto best =
      std::min_element(times_ms.begin(), times_ms.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const double time_s = best->second * kMs;
  point.known.best = {.plan = best->first, .time = {time_s, time_s, time_s}};
  for (const auto& [plan, time_ms] : times_ms) point.known.near[plan] = time_ms * kMs;
  return point;
}

TEST(TunedRegions, EndHalfwayByRatioBetweenTwoSizesAndWithThoseAsked) {
  const std::vector<TunedRegion> regions = tuned_regions(
      {point_of(4, 1 << 10, {{"a", 1}}), point_of(4, 1 << 14, {{"b", 1}})}, TunedOf::kKnown, 0);
  ASSERT_THAT(regions, SizeIs(2));
  EXPECT_EQ(regions[0].from_bytes, 1 << 10);
  EXPECT_EQ(regions[0].to_bytes, 1 << 12);
  EXPECT_EQ(regions[1].from_bytes, (1 << 12) + 1);
  EXPECT_EQ(regions[1].to_bytes, 1 << 14);
  EXPECT_EQ(regions[1].asked_bytes, 1 << 14);
}

TEST(TunedRegions, GoOnWhereTheirPlanLosesLittle) {
  const std::vector<TunedPoint> points{point_of(4, 1024, {{"a", 1}, {"b", 2}}),
                                       point_of(4, 2048, {{"a", 1.02}, {"b", 1}}),
                                       point_of(4, 4096, {{"a", 1.5}, {"b", 1}})};
  const std::vector<TunedRegion> strict = tuned_regions(points, TunedOf::kKnown, 0.01);
  ASSERT_THAT(strict, SizeIs(2));
  EXPECT_EQ(strict[0].to_bytes, 1448);  // sqrt(1024 * 2048)
  const std::vector<TunedRegion> lenient = tuned_regions(points, TunedOf::kKnown, 0.03);
  ASSERT_THAT(lenient, SizeIs(2));
  EXPECT_EQ(lenient[0].to_bytes, 2896);  // sqrt(2048 * 4096)
  EXPECT_NEAR(lenient[0].loss_max, 0.02, 1e-9);
  EXPECT_EQ(lenient[1].plan, "b");
}

TEST(TunedRegions, AreThoseOfEachRankCount) {
  const std::vector<TunedRegion> regions = tuned_regions(
      {point_of(8, 1024, {{"a", 1}}), point_of(4, 2048, {{"a", 1}}), point_of(4, 1024, {{"a", 1}})},
      TunedOf::kKnown, 0);
  ASSERT_THAT(regions, SizeIs(2));
  EXPECT_EQ(regions[0].ranks, 4);
  EXPECT_EQ(regions[1].ranks, 8);
  for (const TunedRegion& region : regions) EXPECT_EQ(region.from_bytes, 1024);
  EXPECT_EQ(regions[0].to_bytes, 2048);
}

// A library that has nothing for a size is left to itself there.
TEST(TunedRegions, LeaveOutWhatALibraryDoesNotOffer) {
  std::vector<TunedPoint> points{point_of(4, 1 << 10, {{"a", 1}}), point_of(4, 1 << 12, {{"a", 1}}),
                                 point_of(4, 1 << 14, {{"a", 1}})};
  points[0].offered = points[0].known;
  points[2].offered = points[2].known;
  const std::vector<TunedRegion> regions = tuned_regions(points, TunedOf::kOffered, 0);
  ASSERT_THAT(regions, SizeIs(2));
  EXPECT_EQ(regions[0].to_bytes, 1 << 11);
  EXPECT_EQ(regions[1].from_bytes, (1 << 13) + 1);
}

// "tree/ll" is within 10 % at all three sizes, what is best at the first at that alone.
TEST(TunedRegions, OfWhatIsToldBeginWithWhatLasts) {
  const auto point = [](std::int64_t bytes, const std::map<std::string, double>& near) {
    TunedPoint made{.question = {.op = CollectiveOp::kAllReduce, .ranks = 4, .bytes = bytes}};
    const auto best = std::min_element(
        near.begin(), near.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    made.known.best = {.plan = best->first, .time = {best->second, best->second, best->second}};
    made.known.near = near;
    return made;
  };
  const std::vector<TunedPoint> points = {point(1024, {{"ring/ll", 10}, {"tree/ll", 10.5}}),
                                          point(2048, {{"tree/ll", 20}}),
                                          point(4096, {{"ring/simple", 30}, {"tree/ll", 31}})};
  const std::vector<TunedRegion> regions = tuned_regions(points, TunedOf::kKnown, 0.1);
  ASSERT_THAT(regions, SizeIs(1));
  EXPECT_EQ(regions[0].plan, "tree/ll");
  EXPECT_NEAR(regions[0].loss_max, 0.05, 1e-12);
  // Of equal runs the best.
  EXPECT_EQ(tuned_regions({points[0]}, TunedOf::kKnown, 0.1)[0].plan, "ring/ll");
  // Not for less than the tolerance.
  EXPECT_THAT(tuned_regions(points, TunedOf::kKnown, 0.01), SizeIs(3));
}

}  // namespace
}  // namespace forescale
