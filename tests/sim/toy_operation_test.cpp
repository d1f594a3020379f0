// An operation that is added here, with an algorithm of its own: plan check, bound, cost engine,
// simulator and listings take it, as do all tests of this program that go over the registry, and no
// other file knows of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/check/plan_check.hpp"
#include "algorithms/operation.hpp"
#include "algorithms/pieces/plan_pieces.hpp"
#include "sim/cost_engine.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const CollectiveOp kToy = add_operation({.name = "toy-spread",
                                         .before = {Part::kWhole, true},
                                         .after = {Part::kWhole, false},
                                         .names = {{Tool::kImb, "Toyspread"}}});

// The root's vector goes from rank to rank, or to its neighbour only.
OpStream from_rank_to_rank(CollectiveCall call, int rank) {
  const int member = member_of(rank, call.root, call.rank_count);
  const Group group = whole_group(call.rank_count, call.root);
  const ByteRange whole = {.offset = 0, .bytes = call.bytes};
  if (call.bytes == 0) co_return;
  if (member > 0) co_yield recv(group.rank_of(member - 1), whole);
  if (member + 1 < call.rank_count)
    co_yield send(group.rank_of(member + 1), whole, member > 0 ? 1 : 0);
}
OpStream to_nobody(CollectiveCall /*call*/, int /*rank*/) { co_return; }

const bool kRegistered =
    register_collective({.op = kToy,
                         .algorithm = "line",
                         .summary = "from rank to rank",
                         .source = "this test",
                         .plan = from_rank_to_rank,
                         .closed_form = [](const CollectiveCall& call, const StepCost& cost) {
                           const double line_s =
                               (call.rank_count - 1) * cost.transfer_s(call.bytes);
                           return std::optional(call.bytes == 0 ? 0 : line_s);
                         }});

TEST(ToyOperation, IsListedAndRead) {
  EXPECT_TRUE(kRegistered);
  EXPECT_EQ(parse_collective_op("toy-spread", "test"), kToy);
  EXPECT_EQ(op_called(Tool::kImb, "Toyspread"), kToy);
  EXPECT_EQ(name_in(Tool::kOsu, kToy), std::nullopt);
  const std::vector<CollectiveOp>& ops = all_collective_ops();
  EXPECT_EQ(std::count(ops.begin(), ops.end(), kToy), 1);
  const Collective& line = find_collective(kToy, "line", "test");
  EXPECT_EQ(line.name, "toy-spread/line");
  const std::vector<const Collective*> all = all_collectives();
  EXPECT_EQ(std::count(all.begin(), all.end(), &line), 1);
}

TEST(ToyOperation, HasAContract) {
  Collective collective = find_collective(kToy, "line", "test");
  const CollectiveCall call{.rank_count = 4, .bytes = 64, .root = 1};
  EXPECT_THAT(check_plan(collective, call), IsEmpty());
  collective.plan = to_nobody;
  EXPECT_THAT(check_plan(collective, call), Not(IsEmpty()));
}

TEST(ToyOperation, IsBoundedCostedAndSimulated) {
  const Platform platform = load_platform(star_of(4));
  const Stack stack = load_stack("ideal");
  const Lanes lanes(platform, stack);
  const Collective& line = find_collective(kToy, "line", "test");
  const CollectiveCall call{.rank_count = 4, .bytes = 1 << 20, .root = 1};
  const double hop_s = kAlpha_s + static_cast<double>(call.bytes) / kStarBytesPerS;
  const std::vector<int> slots = first_ranks(call.rank_count);
  const double priced_s = evaluate_cost(line, call, lanes, BufferPlace::kHost, slots).time_s;
  EXPECT_NEAR(priced_s, 3 * hop_s, 1e-9 * hop_s);
  const double simulated_s = in_child([&] { return collective_s(platform, stack, line, call); });
  EXPECT_NEAR(simulated_s, 3 * hop_s, 1e-9 * hop_s);
  // ceil(log2 4) latencies, or the vector into a rank.
  const Bound bound = collective_bound(kToy, call, lanes, BufferPlace::kHost, slots);
  const double into_s = static_cast<double>(call.bytes) / kStarBytesPerS;
  EXPECT_NEAR(bound.time_s, std::max(2 * kAlpha_s, into_s), 1e-9 * into_s);
  EXPECT_THAT(bound.reason, HasSubstr("at 12.5 GB/s"));
}

}  // namespace
}  // namespace forescale::testing
