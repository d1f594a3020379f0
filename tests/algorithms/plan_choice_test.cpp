// Plans as text, spelled out and in JSON, and which one a call takes by a stack's rules.
#include "algorithms/plan_choice.hpp"

#include <gtest/gtest.h>

#include "algorithms/call_rules.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using testing::refusal;

TEST(PlanChoice, AsTextSpelledOutAndInJsonIsTheSame) {
  const PlanChoice plan = parse_plan("reduce/cb:chunk_bytes=4MiB,chain_size=4", "--plan");
  EXPECT_EQ(plan.options, (OptionValues{{"chain_size", 4}, {"chunk_bytes", 4 << 20}}));
  EXPECT_EQ(plan_text(plan), "reduce/cb:chain_size=4,chunk_bytes=4MiB");
  EXPECT_EQ(
      spelled_plan(CollectiveOp::kReduce,
                   {.algorithm = "cb",
                    .options = {{"chain_size", "4"}, {"chunk_bytes", "4MiB"}, {"levels", ""}}}),
      plan);
  EXPECT_EQ(
      read_plan(JsonInput::from_text(
                    R"({"algorithm": "cb", "chain_size": 4, "chunk_bytes": "4MiB"})", "my.json"),
                CollectiveOp::kReduce),
      plan);
  EXPECT_EQ(spelled_plan(CollectiveOp::kReduce, {}), std::nullopt) << "the stack chooses";
}

// What is given again at its default means the same; levels stand for the chain's size.
TEST(PlanChoice, TextSaysWhatCounts) {
  const auto again = [](const std::string& text) { return plan_text(parse_plan(text, "--plan")); };
  EXPECT_EQ(again("reduce/cb"), "reduce/cb:chain_size=8");
  EXPECT_EQ(again("reduce/hierarchical:chain_size=4,levels=chain:4+binomial"),
            "reduce/hierarchical:levels=chain:4+binomial");
  EXPECT_EQ(again("all-reduce/ring"), "all-reduce/ring");
  EXPECT_EQ(again("all-reduce/chain-tree:group_sizes=8+3+5"),
            "all-reduce/chain-tree:group_sizes=8+3+5");
}

TEST(PlanChoice, RefusalsNameTheOption) {
  const auto spelled = [](const SpelledPlan& plan) {
    return refusal([&] { spelled_plan(CollectiveOp::kReduce, plan); });
  };
  EXPECT_EQ(spelled({.algorithm = "", .options = {{"chain_size", "4"}}}),
            "--chain-size = 4: needs --algorithm: without it the stack chooses");
  EXPECT_EQ(spelled({.algorithm = "binomial", .options = {{"chunk_bytes", "4"}}}),
            "--chunk-bytes = 4: is not an option of reduce/binomial");
  EXPECT_EQ(refusal([] {
              read_plan(JsonInput::from_text(R"({"algorithm": "cb", "levels": "flat"})", "my.json"),
                        CollectiveOp::kReduce);
            }),
            "my.json:/levels = \"flat\": is not an option of reduce/cb");
}

// The rule of the call says what it costs, that of the plan's algorithm how it is carried.
TEST(CallRules, TakeTheNamedPlanOrTheFirstRuleThatFits) {
  SelectionRule small;
  small.up_to_bytes = 1024;
  small.algorithm = "binomial";
  SelectionRule large;
  large.up_to_ranks = 8;
  large.algorithm = "chain";
  large.options = {{"chunk_bytes", 65536}};
  large.protocol = 1;
  const SelectionRules rules = {{"reduce", {small, large}}};
  const auto ask = [&](int ranks, std::int64_t bytes, const PlanChoice* named = nullptr) {
    return call_rules(rules, CollectiveOp::kReduce, {.ranks = ranks}, bytes, named,
                      {.source = "stack mine", .path = "/selection"});
  };
  EXPECT_EQ(plan_text(ask(8, 1024).plan), "reduce/binomial");
  EXPECT_EQ(plan_text(ask(8, 1025).plan), "reduce/chain:chunk_bytes=64KiB");
  const PlanChoice chain = parse_plan("reduce/chain", "test");
  const CallRules named = ask(8, 16, &chain);
  EXPECT_EQ(plan_text(named.plan), "reduce/chain") << "with its own options";
  EXPECT_EQ(named.of_call->algorithm, "binomial");
  EXPECT_EQ(named.of_plan->protocol, 1);
  EXPECT_EQ(refusal([&] { ask(17, 4096); }),
            "stack mine:/selection/reduce: chooses no algorithm for 17 ranks and 4096 bytes; name "
            "one with --algorithm");
  EXPECT_EQ(ask(17, 4096, &chain).of_call, nullptr);
}

TEST(CallRules, RefuseOptionsThatTheAlgorithmDoesNotDeclare) {
  SelectionRule rule;
  rule.algorithm = "binomial";
  rule.options = {{"chunk_bytes", 65536}};
  EXPECT_EQ(refusal([&] {
              call_rules({{"reduce", {rule}}}, CollectiveOp::kReduce, {.ranks = 4}, 4, nullptr,
                         {.source = "stack mine", .path = "/selection"});
            }),
            "stack mine = chunk_bytes: is not an option of reduce/binomial");
}

}  // namespace
}  // namespace forescale
