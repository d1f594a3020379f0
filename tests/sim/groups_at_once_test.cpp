// Groups that call the same at the same moment: which of them are in each other's way, and what
// that costs.
#include "sim/groups_at_once.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/stack.hpp"
#include "sim/alike_members.hpp"
#include "sim/ask/rank_split.hpp"
#include "sim/folded.hpp"
#include "sim/simulated_call.hpp"
#include "tests/base/refusal.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kSixteenMiB = 16 << 20;

// Groups of a machine, the first of which calls.
class Calling {
 public:
  Calling(Platform platform, const std::string& stack)
      : platform_(std::move(platform)), stack_(load_stack(stack)) {}

  ResolvedCall call(const std::vector<std::vector<int>>& groups, CollectiveOp op,
                    const std::string& algorithm) const {
    const PlanChoice plan{.collective = &find_collective(op, algorithm, "test"), .options = {}};
    ResolvedCall resolved = resolve(lanes_, shared_group(platform_, groups.front()),
                                    {.op = op, .bytes = kSixteenMiB, .plan = &plan});
    std::vector<SharedGroup> others;
    for (size_t i = 1; i < groups.size(); ++i) others.push_back(shared_group(platform_, groups[i]));
    resolved.at_once = groups_in_the_way(resolved, others);
    return resolved;
  }

  // The first slots of the groups that are in the first one's way.
  std::vector<int> in_the_way(const std::vector<std::vector<int>>& groups,
                              CollectiveOp op = CollectiveOp::kAllReduce,
                              const std::string& algorithm = "ring") const {
    std::vector<int> first;
    for (const SharedGroup& group : call(groups, op, algorithm).at_once)
      first.push_back(group->slots.front());
    return first;
  }

  static double whole_s(const ResolvedCall& resolved) {
    return in_child([&] {
      SessionOptions options;
      options.choices[resolved.collective->op] = {.collective = resolved.collective,
                                                  .options = resolved.call.options};
      return simulate_collective(resolved, options).time_s;
    });
  }

 private:
  const Platform platform_;
  const Stack stack_;
  const Lanes lanes_{platform_, stack_};
};

std::vector<std::vector<int>> every_eighth(int ranks) {
  return groups_of_ranks(ranks, parse_split("mod8", "test"), "test");
}

// A block of the nodes, of all groups, in place of all.
TEST(GroupsAtOnce, AreAlikeOnAllNodes) {
  const Calling p4de(load_platform("aws-p4de"), "nccl-2.23-a100-efa");
  for (const auto& [op, algorithm] :
       {std::pair{CollectiveOp::kAllReduce, "ring"}, {CollectiveOp::kAllToAll, "pairwise"}}) {
    const ResolvedCall call = p4de.call(every_eighth(64), op, algorithm);
    ASSERT_EQ(call.at_once.size(), 1U) << algorithm;
    const auto alike = alike_members(call);
    ASSERT_TRUE(alike) << algorithm;
    EXPECT_EQ(alike->turn.blocks, 8) << algorithm;
    const double one_node_s = in_child([&] {
      SessionOptions options;
      options.choices[op] = plan_of(call);
      options.alike = &*alike;
      return simulate_collective(call, options).time_s;
    });
    EXPECT_NEAR(one_node_s / Calling::whole_s(call), 1, 1e-9) << algorithm;
  }
}

// Two GPUs of a p4de node share an adapter, those of a DGX have one each; NVSwitch has room for
// all.
TEST(GroupsAtOnce, AreInTheWayWhereTheyShareAnAdapter) {
  const Calling p4de(load_platform("aws-p4de"), "nccl-2.23-a100-efa");
  EXPECT_THAT(p4de.in_the_way(every_eighth(32)), ElementsAre(1));
  EXPECT_THAT(p4de.in_the_way(every_eighth(32), CollectiveOp::kAllToAll, "pairwise"),
              ElementsAre(1));
  const std::vector<std::vector<int>> halves = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  EXPECT_THAT(p4de.in_the_way(halves), ElementsAre());
  const Calling dgx(load_platform("dgx-a100"), "nccl-2.23-a100");
  EXPECT_THAT(dgx.in_the_way(every_eighth(32)), ElementsAre());
}

// A link that the first and the second cross, another that the second and the third do.
TEST(GroupsAtOnce, AreInTheWayOfThoseInTheWay) {
  const Calling tree(load_platform("fat-tree:down=2x4,up=1,bandwidth=10GB/s,latency=1us"), "ideal");
  // Hosts 0, 1 | 2, 3 | 4, 5 | 6, 7 on four leaves.
  EXPECT_THAT(tree.in_the_way({{0, 2}, {4, 6}}), ElementsAre());
  EXPECT_THAT(tree.in_the_way({{0, 2}, {3, 4}}), ElementsAre(3));
  EXPECT_THAT(tree.in_the_way({{0, 2}, {3, 4}, {5, 6}}), ElementsAre(3, 5));
  EXPECT_THAT(tree.in_the_way({{0, 1}, {2, 3}, {4, 6}}), ElementsAre());
}

// 16 MiB around two hosts: 8 MiB each way, twice. With the uplink shared by two groups they take
// twice as long.
TEST(GroupsAtOnce, ShareALinkEvenly) {
  const Calling tree(load_platform("fat-tree:down=2x2,up=1,bandwidth=1GB/s,latency=1us"), "ideal");
  const ResolvedCall alone = tree.call({{0, 2}}, CollectiveOp::kAllReduce, "ring");
  const ResolvedCall both = tree.call({{0, 2}, {1, 3}}, CollectiveOp::kAllReduce, "ring");
  EXPECT_EQ(both.rank_count(), 4);
  EXPECT_EQ(alone.why_not_priced(), "");
  EXPECT_THAT(both.why_not_priced(), HasSubstr("in each other's way"));
  const double bytes_s = static_cast<double>(kSixteenMiB) / 1e9;
  EXPECT_NEAR(Calling::whole_s(alone), bytes_s + 2 * 4e-6, 1e-9);
  EXPECT_NEAR(Calling::whole_s(both), 2 * bytes_s + 2 * 4e-6, 1e-9);
}

// Few nodes stand for all where groups are on the same ones.
TEST(GroupsAtOnce, AreFoldedTogether) {
  const Calling p4de(load_platform("aws-p4de:nodes=64"), "nccl-2.23-a100-efa");
  for (const char* algorithm : {"ring", "chain-tree"}) {
    const ResolvedCall call = p4de.call(every_eighth(512), CollectiveOp::kAllReduce, algorithm);
    ASSERT_EQ(why_not_folded(call), "") << algorithm;
    const Folded folded = simulate_folded(call);
    EXPECT_NEAR(folded.outcome.time_s, Calling::whole_s(call), 0.06 * folded.outcome.time_s)
        << algorithm;
    EXPECT_LT(folded.ranks, call.rank_count());
  }
  const ResolvedCall apart =
      p4de.call({{0, 8, 16}, {1, 9, 17}, {24, 32, 40}}, CollectiveOp::kAllReduce, "ring");
  EXPECT_EQ(apart.at_once.size(), 1U);
}

TEST(RankSplit, IsNcclTests) {
  const auto groups = [](int ranks, const char* text) {
    return groups_of_ranks(ranks, parse_split(text, "--split"), "--split");
  };
  using Groups = std::vector<std::vector<int>>;
  EXPECT_EQ(groups(6, "mod2"), (Groups{{0, 2, 4}, {1, 3, 5}}));
  EXPECT_EQ(groups(6, "MOD 2"), groups(6, "mod2"));
  EXPECT_EQ(groups(6, "div2"), (Groups{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(groups(6, "mod1"), (Groups{{0, 1, 2, 3, 4, 5}}));
  for (const char* wrong : {"", "8", "and7", "mod", "mod0", "div-1", "mod1,2", "div8x"})
    EXPECT_THAT(refusal([&] { groups(8, wrong); }), HasSubstr("--split")) << wrong;
  EXPECT_THAT(refusal([&] { groups(6, "mod4"); }), HasSubstr("must divide the 6 ranks"));
  EXPECT_THAT(refusal([&] { groups(6, "div12"); }), HasSubstr("must divide the 6 ranks"));
}

}  // namespace
}  // namespace forescale::testing
