// What a stack's rule says of a call holds for every algorithm: copies through the host, overhead.
#include <gtest/gtest.h>

#include "models/stack.hpp"
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

}  // namespace
}  // namespace forescale::testing
