// What a stack says of a call: for every algorithm (copies through the host) or for one (overhead).
#include <gtest/gtest.h>

#include "models/stack.hpp"
#include "sim/run/session.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

double named_all_reduce_s(const Stack& stack, const std::string& named, bool on_host = false) {
  static const Platform platform = load_platform("minsky");
  return in_child([&] {
    CollectiveStep step{.op = CollectiveOp::kAllReduce, .bytes = kMiB, .label = "call"};
    step.on_host = on_host;
    SessionOptions options;
    if (!named.empty()) options.choices[step.op] = parse_plan("all-reduce/" + named, "test");
    return simulate_collective(platform, stack, step, 4, options).time_s;
  });
}

class CallCosts : public ::testing::TestWithParam<const char*> {};

TEST_P(CallCosts, AreTheSameForTheStacksAlgorithmWhenItIsNamed) {
  const Stack stack = load_stack(GetParam());
  const SelectionRule& rule = *find_rule(stack.selection, "all-reduce", {.ranks = 4}, kMiB);
  ASSERT_TRUE(rule.through_host || rule.call_overhead.value > 0);
  EXPECT_EQ(named_all_reduce_s(stack, rule.algorithm), named_all_reduce_s(stack, ""));
  Stack without = stack;
  for (SelectionRule& each : without.selection["all-reduce"]) each.call_overhead = {};
  EXPECT_NEAR(
      named_all_reduce_s(stack, rule.algorithm) - named_all_reduce_s(without, rule.algorithm),
      rule.call_overhead.value, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Stacks, CallCosts,
                         ::testing::Values("nccl-2.3", "cray-mpich-aries", "mvapich2-2.3"),
                         [](const auto& stack) {
                           std::string name = stack.param;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

// Trees are what this stack takes; a ring that is asked for has the call of the ring's own rule.
TEST(CallCosts, OfAnAlgorithmThatIsAskedForAreItsOwn) {
  Stack stack = load_stack("ideal");
  SelectionRule trees;
  trees.algorithm = "recursive-doubling";
  trees.call_overhead.value = 1e-3;
  SelectionRule rings;
  rings.algorithm = "ring";
  rings.call_overhead.value = 2e-3;
  stack.selection["all-reduce"] = {trees};
  const double ring_s = named_all_reduce_s(stack, "ring");
  stack.selection["all-reduce"] = {trees, rings};
  EXPECT_NEAR(named_all_reduce_s(stack, "ring") - ring_s, 1e-3, 1e-12);
  EXPECT_NEAR(named_all_reduce_s(stack, ""), named_all_reduce_s(stack, "recursive-doubling"),
              1e-12);
}

TEST(CallCosts, CopiesOfGpuBuffersCostNothingForBuffersOnTheHost) {
  Stack stack = load_stack("mvapich2-2.3");
  const double with_s = named_all_reduce_s(stack, "ring", true);
  for (SelectionRule& rule : stack.selection["all-reduce"]) {
    ASSERT_TRUE(rule.through_host);
    rule.call_overhead = {};
    rule.through_host = false;
  }
  EXPECT_EQ(with_s, named_all_reduce_s(stack, "ring", true));
}

// 64 MiB from a GPU of one node to one of another: on two of NCCL's channels, and in a shift of
// more ranks than these are for on one.
TEST(NcclBetweenNodes, TwoGpusHaveFewChannels) {
  const Platform platform = load_platform("dgx-h100");
  const Stack stack = load_stack("nccl-2.23-h100");
  constexpr std::int64_t kBytes = 64 * kMiB;
  constexpr double kChannel = 14.7e9;
  constexpr double kLatencies_s = 50e-6;
  const auto near = [&](double measured_s, int channels) {
    EXPECT_GE(measured_s, kBytes / (channels * kChannel));
    EXPECT_LE(measured_s, kBytes / (channels * kChannel) + kLatencies_s);
  };
  const auto shift_s = [&](int ranks) {
    return in_child([&] {
      const CollectiveStep step{.op = CollectiveOp::kShift, .bytes = kBytes, .label = "shift"};
      return simulate_collective(platform, stack, step, ranks, {}).time_s;
    });
  };
  near(shift_s(64), 2);
  near(shift_s(72), 1);
  const double message_s = in_child([&] {
    constexpr int kRanks = 9;  // the last alone on its node
    Session session(platform, stack, kRanks, {});
    for (int rank = 0; rank < kRanks; ++rank)
      session.start_rank(rank, [rank](Worker& worker) {
        worker.wait(worker.next_batch());
        if (rank == 0)
          worker.wait(worker.send({.peer = kRanks - 1, .bytes = kBytes, .label = "m"}));
        if (rank == kRanks - 1)
          worker.wait(worker.receive({.peer = 0, .bytes = kBytes, .label = "m"}));
        worker.end_iteration();
      });
    session.run();
    return session.iteration_ends()[kRanks - 1][0];
  });
  near(message_s, 2);
}

// A sendrecv inside a node: 32 channels over the ranks, and twice as many as long as a part is
// above 16 MiB (NCCL's calcP2pChannelCount).
TEST(NcclInsideANode, TwoGpusHaveChannelsByRanksAndBytes) {
  const Platform platform = load_platform("dgx-b200");
  const Stack stack = load_stack("nccl-2.29-b200");
  constexpr double kChannel = 21.6e9;
  constexpr double kLatencies_s = 50e-6;
  const auto has_channels = [&](int ranks, std::int64_t bytes, int channels) {
    const double took_s = in_child([&] {
      const CollectiveStep step{.op = CollectiveOp::kShift, .bytes = bytes, .label = "shift"};
      return simulate_collective(platform, stack, step, ranks, {}).time_s;
    });
    const double least_s = static_cast<double>(bytes) / (channels * kChannel);
    EXPECT_GE(took_s, least_s) << ranks << " " << bytes;
    EXPECT_LE(took_s, least_s + kLatencies_s) << ranks << " " << bytes;
  };
  has_channels(8, 16 * kMiB, 4);
  has_channels(8, 64 * kMiB, 4);
  has_channels(8, 64 * kMiB + 1, 8);
  has_channels(8, 256 * kMiB, 16);
  has_channels(8, 1024 * kMiB, 32);
  has_channels(4, 64 * kMiB, 8);
  has_channels(2, 64 * kMiB, 16);
}

}  // namespace
}  // namespace forescale::testing
