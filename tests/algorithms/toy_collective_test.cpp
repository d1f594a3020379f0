// A collective that registers itself here: every registry-driven test of this program finds it,
// checks its plan and its closed form, and no other file knows of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "algorithms/check/plan_check.hpp"
#include "algorithms/pieces/plan_pieces.hpp"
#include "algorithms/plan_choice.hpp"
#include "models/plan_options.hpp"
#include "tests/algorithms/call_variants.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

// Ranks behind each other in the line: an option that no other file knows.
const Option kStride{.name = "toy_stride",
                     .summary = "Ranks from one to the next; must have no divisor in common",
                     .fallback = 1,
                     .min = 1,
                     .max = 1000,
                     .tried = {2},
                     .checked = {"", "3", "5"}};

std::string why_ranks_are_left(const CollectiveCall& call) {
  return std::gcd(call.options.number(kStride), call.rank_count) == 1 ? "" : "leaves ranks out";
}

// The vector goes from rank to rank, starting at the root, `toy_stride` ranks further each time.
OpStream plan(CollectiveCall call, int rank) {
  const auto stride = static_cast<int>(call.options.number(kStride)) % call.rank_count;
  const int last = (call.root + (call.rank_count - 1) * stride) % call.rank_count;
  const int before = (rank + call.rank_count - stride) % call.rank_count;
  const int next = (rank + stride) % call.rank_count;
  const ByteRange whole = {.offset = 0, .bytes = call.bytes};
  if (call.bytes == 0 || call.rank_count == 1) co_return;
  if (rank != call.root) co_yield recv(before, whole);
  if (rank != last) co_yield send(next, whole, rank != call.root ? 1 : 0);
}

std::optional<double> closed_form(const CollectiveCall& call, const StepCost& cost) {
  return call.bytes == 0 ? 0 : (call.rank_count - 1) * cost.transfer_s(call.bytes);
}

const bool kRegistered = register_collective({.op = CollectiveOp::kBroadcast,
                                              .algorithm = "toy",
                                              .summary = "from rank to rank",
                                              .source = "this test",
                                              .options = {kStride},
                                              .plan = plan,
                                              .closed_form = closed_form,
                                              .refuse = why_ranks_are_left});

TEST(ToyCollective, IsInTheTableWithoutAnyOtherEdit) {
  EXPECT_TRUE(kRegistered);
  const Collective& toy = find_collective(CollectiveOp::kBroadcast, "toy", "test");
  EXPECT_EQ(toy.name, "broadcast/toy");
  const std::vector<const Collective*> all = all_collectives();
  EXPECT_EQ(std::count(all.begin(), all.end(), &toy), 1);
}

std::string refusal_of(const std::string& plan) {
  return testing::refusal([&] { parse_plan(plan, "--plan"); });
}

TEST(ToyCollective, ItsOptionIsParsedPrintedAndRead) {
  const PlanChoice plan = parse_plan("broadcast/toy:toy_stride=3", "--plan");
  EXPECT_EQ(plan.options.number(kStride), 3);
  EXPECT_EQ(plan_text(plan), "broadcast/toy:toy_stride=3");
  EXPECT_EQ(plan_text(parse_plan("broadcast/toy", "--plan")), "broadcast/toy:toy_stride=1");
  EXPECT_EQ(refusal_of("broadcast/toy:toy_stride=0"),
            "--plan broadcast/toy:toy_stride = 0: must be >= 1");
  EXPECT_EQ(refusal_of("broadcast/chain:toy_stride=3"),
            "--plan broadcast/chain:toy_stride = 3: is not an option of broadcast/chain");
  // Spelled out, and in JSON.
  EXPECT_EQ(spelled_plan(CollectiveOp::kBroadcast,
                         {.algorithm = "toy", .options = {{"toy_stride", "3"}}}),
            plan);
  const JsonInput json =
      JsonInput::from_text(R"({"algorithm": "toy", "toy_stride": 3})", "mine.json");
  EXPECT_EQ(read_plan(json, CollectiveOp::kBroadcast), plan);
  EXPECT_EQ(options_json(plan.options)["toy_stride"], 3);
  // A stack's rules may state it, the command line lists it.
  EXPECT_EQ(plan_options().count("toy_stride"), 1u);
  EXPECT_EQ(read_plan_options(json), plan.options);
}

TEST(ToyCollective, ItsOptionIsSweptByChecksOfPlans) {
  const Collective& toy = find_collective(CollectiveOp::kBroadcast, "toy", "test");
  std::set<std::int64_t> swept;
  for (const CollectiveCall& call : testing::calls_of(toy, 7, 64, {})) {
    swept.insert(call.options.number(kStride));
    EXPECT_EQ(check_plan(toy, call), std::vector<std::string>()) << testing::to_text(toy, call);
  }
  EXPECT_EQ(swept, (std::set<std::int64_t>{1, 3, 5}));
  swept.clear();
  for (size_t turn = 0; turn < 3; ++turn) swept.insert(checked_options(toy, turn).number(kStride));
  EXPECT_EQ(swept, (std::set<std::int64_t>{1, 3, 5})) << "forescale algorithm check";
}

}  // namespace
}  // namespace forescale
