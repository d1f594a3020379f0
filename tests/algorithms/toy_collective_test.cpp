// A collective that registers itself here: every registry-driven test of this program finds it,
// checks its plan and its closed form, and no other file knows of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/collective.hpp"
#include "algorithms/pieces/plan_pieces.hpp"

namespace forescale {
namespace {

// The vector goes from rank to rank, starting behind the root.
OpStream plan(CollectiveCall call, int rank) {
  const int member = member_of(rank, call.root, call.rank_count);
  const Group group = whole_group(call.rank_count, call.root);
  const ByteRange whole = {.offset = 0, .bytes = call.bytes};
  if (call.bytes == 0) co_return;
  if (member > 0) co_yield recv(group.rank_of(member - 1), whole);
  if (member + 1 < call.rank_count)
    co_yield send(group.rank_of(member + 1), whole, member > 0 ? 1 : 0);
}

std::optional<double> closed_form(const CollectiveCall& call, const StepCost& cost) {
  return call.bytes == 0 ? 0 : (call.rank_count - 1) * cost.transfer_s(call.bytes);
}

const bool kRegistered = register_collective({.op = CollectiveOp::kBroadcast,
                                              .algorithm = "toy",
                                              .summary = "from rank to rank",
                                              .source = "this test",
                                              .plan = plan,
                                              .closed_form = closed_form});

TEST(ToyCollective, IsInTheTableWithoutAnyOtherEdit) {
  EXPECT_TRUE(kRegistered);
  const Collective& toy = find_collective(CollectiveOp::kBroadcast, "toy", "test");
  EXPECT_EQ(toy.name, "broadcast/toy");
  const std::vector<const Collective*> all = all_collectives();
  EXPECT_EQ(std::count(all.begin(), all.end(), &toy), 1);
}

}  // namespace
}  // namespace forescale
