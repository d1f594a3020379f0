// What a library is told: alternatives against its own choice, their chunks, and where regions end.
#include "studies/tune/tune_alternatives.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "base/scratch_folder.hpp"

namespace forescale {
namespace {

using nlohmann::json;

// A library that takes rings of a call of 100 us, whatever the size, and could be told to take them
// with a call of `quick`, or chains.
class Alternatives : public ::testing::Test {
 protected:
  MachineScenarios machine(const json& quick, const json& chains = json::object()) const {
    json stack = parse_json(R"({
      "format": "forescale-stack-1", "name": "toy", "description": "a library with alternatives",
      "channels": 1, "eager_limit_bytes": 0, "latency_holds_ports": false, "progress": "hardware",
      "reduction": {"place": "free", "overlaps_transfer": false},
      "host_reduction": {"place": "free", "overlaps_transfer": false},
      "paths": [{"where": "any", "protocol": "quick", "buffers": "host", "mechanism": "direct"},
                {"where": "any", "buffers": "host", "mechanism": "direct"}],
      "selection": {"all-reduce": [{"algorithm": "ring", "call_overhead_s": "100us"}],
                    "broadcast": [{"algorithm": "chain", "chunk_bytes": "1MiB"}]}})");
    stack["alternatives"]["ring/slow"] = {{"all-reduce", stack["selection"]["all-reduce"]}};
    stack["alternatives"]["ring/quick"]["all-reduce"] = quick;
    if (!chains.empty()) stack["alternatives"]["chain"] = chains;
    const std::string file = folder_.file("toy.json");
    std::ofstream(file) << stack;
    return load_machines("star:hosts=8,bandwidth=1GB/s,latency=5us", file);
  }

  static json ring(const json& call_s) {
    return {{{"algorithm", "ring"}, {"protocol", "quick"}, {"call_overhead_s", call_s}}};
  }

  const ScratchFolder folder_{"alternatives"};
};

TuneQuestion all_reduce_of(std::int64_t bytes) {
  return {.op = CollectiveOp::kAllReduce, .ranks = 8, .bytes = bytes};
}

TEST_F(Alternatives, WhatIsFasterByMoreThanTheToleranceIsTold) {
  const TunedPoint point = tune_alternatives(all_reduce_of(4096), machine(ring("10us")), 0.1);
  EXPECT_EQ(point.known.best.plan, "ring/quick");
  EXPECT_EQ(point.own, "ring/slow");
  ASSERT_TRUE(point.stack_default);
  EXPECT_NEAR(point.stack_default->time.time_s - point.known.best.time.time_s, 90e-6, 1e-12);
}

// 75 us of messages and 100 of a call against 90: 6 % faster.
TEST_F(Alternatives, TheOwnChoiceStaysForLess) {
  EXPECT_EQ(tune_alternatives(all_reduce_of(4096), machine(ring("90us")), 0.1).known.best.plan,
            kOwnChoice);
  EXPECT_EQ(tune_alternatives(all_reduce_of(4096), machine(ring("90us")), 0.01).known.best.plan,
            "ring/quick");
}

// Faster by 80 us nominally; its call may take 400 us, and at the slow end of its interval it is
// slower.
TEST_F(Alternatives, TheOwnChoiceStaysWhereUncertainNumbersCanTurnItRound) {
  const json call = {{"value", 20e-6}, {"assumed", "?"}, {"fast", 0}, {"slow", 110e-6}};
  EXPECT_EQ(tune_alternatives(all_reduce_of(4096), machine(ring(call)), 0.1).known.best.plan,
            kOwnChoice);
}

// Chunks of a chain on eight ranks: 1 MiB in one takes seven times as long as a link does, in 32
// chunks, the most that the stack has, little more than once. The library's are half of the plan's.
TEST_F(Alternatives, ChunksAreSearchedAsLongAsTheyHelp) {
  json chains = {{"chunk_factor", 2}, {"broadcast", json::array()}};
  std::int64_t up_to = 4096;
  for (const char* chunk : {"32KiB", "64KiB", "128KiB", "256KiB", "512KiB", "1MiB"}) {
    chains["broadcast"].push_back(
        {{"algorithm", "chain"}, {"chunk_bytes", chunk}, {"up_to_bytes", up_to}});
    up_to *= 2;
  }
  chains["broadcast"].back().erase("up_to_bytes");  // at 1 MiB it takes one chunk itself
  const TunedPoint point =
      tune_alternatives({.op = CollectiveOp::kBroadcast, .ranks = 8, .bytes = 1 << 20},
                        machine(ring("10us"), chains), 0.1);
  EXPECT_EQ(point.own, "chain");
  EXPECT_EQ(point.known.best.plan, "chain:chunk_bytes=16384");
  EXPECT_GT(point.known.margin(*point.stack_default), 1);
}

TEST_F(Alternatives, AreThereOnlyForWhatTheyHaveRulesOf) {
  const MachineScenarios toy = machine(ring("10us"));
  EXPECT_TRUE(has_alternatives(all_reduce_of(4096), toy.front()));
  EXPECT_FALSE(
      has_alternatives({.op = CollectiveOp::kReduce, .ranks = 8, .bytes = 4096}, toy.front()));
}

// From 64 KiB on the quick ring has a call of 200 us: regions by the sizes asked reach beyond it.
TEST_F(Alternatives, RegionsEndWhereTheOwnChoiceIsFaster) {
  json quick = ring("10us");
  quick[0]["up_to_bytes"] = 65535;
  quick.push_back(ring("200us")[0]);
  const MachineScenarios toy = machine(quick);
  const std::vector<TunedPoint> points =
      tune_collective({all_reduce_of(32768), all_reduce_of(1 << 20)}, toy, nullptr, 0.1, {},
                      [](const TunedPoint&) {});
  const std::vector<TunedRegion> by_asked = tuned_regions(points, TunedOf::kKnown, 0.1);
  ASSERT_EQ(by_asked.size(), 2U);
  EXPECT_EQ(by_asked[0].plan, "ring/quick");
  EXPECT_EQ(by_asked[1].plan, kOwnChoice);
  EXPECT_GT(by_asked[0].to_bytes, 65536);
  const std::vector<TunedRegion> checked = faster_to_their_ends(by_asked, points, toy);
  EXPECT_EQ(checked[0].to_bytes, 32768);
  EXPECT_EQ(checked[1].from_bytes, by_asked[1].from_bytes);
}

// Every alternative that a stack of the catalogue has, on the platform that it is for: it comes to
// an end, never below what the bytes need, and never a hundred times as fast as the own choice.
TEST(AlternativesOfTheCatalogue, AreSimulatedOnOneTwoAndFourNodes) {
  int simulated = 0;
  for (const auto& [stack, platform] : {std::pair("nccl-2.23-h100", "dgx-h100"),
                                        {"nccl-2.23-a100", "dgx-a100"},
                                        {"nccl-2.23-v100", "dgx-1-v100"},
                                        {"nccl-2.23-a100-efa", "aws-p4de"},
                                        {"nccl-2.23-h100-tcpxo", "gcp-a3-mega"},
                                        {"nccl-2.23-gh200", "alps-gh200"},
                                        {"nccl-2.29-b200", "dgx-b200"},
                                        {"nccl-2.29-b300", "dgx-b300"}}) {
    const MachineScenarios machine = load_machines(std::string(platform) + ":nodes=4", stack);
    const Stack& own = machine.front().stack;
    EXPECT_FALSE(own.alternatives.empty()) << stack;
    const int of_a_node = machine.front().platform.slot_count() / 4;
    for (const auto& [op, rules] : own.selection)
      for (const int nodes : {1, 2, 4}) {
        const TuneQuestion question{.op = parse_collective_op(op, "selection"),
                                    .ranks = nodes * of_a_node,
                                    .bytes = 1 << 20};
        if (!has_alternatives(question, machine.front())) continue;
        const std::string what = std::string(stack) + " " + op + " " + std::to_string(nodes);
        const TunedPoint point = tune_alternatives(question, machine, 0.1);
        EXPECT_FALSE(point.own.empty()) << what;
        EXPECT_LE(point.known.best.time.time_s, point.stack_default->time.time_s) << what;
        EXPECT_GT(100 * point.known.best.time.time_s, point.stack_default->time.time_s) << what;
        ++simulated;
      }
  }
  EXPECT_GE(simulated, 8 * 5 * 2);
}

}  // namespace
}  // namespace forescale
