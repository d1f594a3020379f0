// Layouts and the groups that they make: by hand, and properties of every shape.
#include "algorithms/layout/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using testing::refusal;
using Ranks = std::vector<int>;

RankGrid grid(const std::string& text, std::int64_t gpus) {
  return RankGrid(resolved(parse_layout(text, "--layout"), gpus, "--layout"), "--layout");
}

TEST(Layout, IsReadByShortAndByMegatronsNames) {
  const Layout brief =
      parse_layout("tp=2,pp=4,vpp=2,micro=1,global=128,zero=1,sp=false,recompute=full", "--layout");
  EXPECT_EQ(brief, parse_layout("tensor-model-parallel-size=2,pipeline_model_parallel_size=4,"
                                "virtual-pipeline-model-parallel-size=2,micro-batch-size=1,"
                                "global-batch-size=128,data-parallel-sharding-strategy=optim,"
                                "sequence-parallel=false,recompute-granularity=full",
                                "--layout"));
  EXPECT_EQ(parse_layout(to_text(brief), "--layout"), brief);
  EXPECT_EQ(to_text(parse_layout("ep=32,imbalance=21.7483647", "--layout")),
            "ep=32,imbalance=21.7483647");
  EXPECT_EQ(to_text(Layout{}), "");
  EXPECT_EQ(to_text(parse_layout("zero=3,tp=8", "--layout")), "tp=8,zero=parameters");
  // What is at its default: where it is asked for by name.
  EXPECT_EQ(to_text(parse_layout("zero=0,tp=8", "--layout"), {"zero"}), "tp=8,zero=none");
}

TEST(Layout, TakesTheGpusThatAreLeft) {
  const Layout layout = resolved(parse_layout("tp=4,pp=2,micro=2,global=64", "--layout"), 64, "x");
  EXPECT_EQ(layout.data, 8);
  EXPECT_EQ(layout.micro_batches(), 4);
  EXPECT_EQ(layout.expert_tensor, 4);
  EXPECT_EQ(resolved(parse_layout("tp=8,micro=3", "--layout"), 16, "x").global_batch, 6);
}

// Two numbers of every refusal.
TEST(Layout, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& text, std::int64_t gpus) {
    return refusal([&] { grid(text, gpus); });
  };
  const auto says = [](const std::string& whole, const std::string& part) {
    return whole.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(refused("tp=3", 8), "their product 3 must divide the 8 GPUs"));
  EXPECT_TRUE(says(refused("tp=2,dp=2", 8), "their product 4 must be the 8 GPUs"));
  EXPECT_TRUE(says(refused("micro=3,global=128", 8), "micro x dp=24: must divide 128"));
  EXPECT_TRUE(says(refused("tp=2,ep=8,etp=2", 8), "etp x ep=16: must divide 8"));
  EXPECT_TRUE(says(refused("vpp=2", 8), "needs pp > 1"));
  EXPECT_TRUE(says(refused("tp=0", 8), "must be an integer from 1"));
  EXPECT_TRUE(says(refused("tp=two", 8), "must be an integer from 1"));
  EXPECT_TRUE(says(refused("tp", 8), "must be NAME=VALUE"));
  EXPECT_TRUE(says(refused("tensor_parallel=2", 8), "unknown"));
  EXPECT_TRUE(says(refused("tp=2,tensor-model-parallel-size=2", 8), "tp was given before"));
  EXPECT_TRUE(says(refused("zero=4", 8), "unknown"));
  EXPECT_TRUE(says(refused("sp=maybe", 8), "must be true or false"));
  EXPECT_TRUE(says(refused("order=tp-dp-pp", 8), "must name tp, cp, ep, dp and pp"));
  EXPECT_TRUE(says(refused("order=tp-tp-cp-ep-pp", 8), "tp is there twice"));
  EXPECT_TRUE(says(refused("recompute_layers=2", 8), "needs recompute=full"));
  EXPECT_TRUE(says(refused("dp_shard=2", 8), "needs zero="));
  EXPECT_TRUE(says(refused("zero=3,dp_shard=3", 8), "dp_shard=3: must divide 8"));
  EXPECT_TRUE(says(refused("zero=3,dp_shard=2,ep=4", 8), "etp x ep=4: must divide 2"));
}

// Megatron-LM, core/parallel_state.py: the example of 16 GPUs, tp 2, pp 4.
TEST(RankGrid, IsMegatronsExample) {
  const RankGrid megatron = grid("tp=2,pp=4", 16);
  EXPECT_EQ(megatron.group(0, {Dimension::kTensor}), (Ranks{0, 1}));
  EXPECT_EQ(megatron.group(15, {Dimension::kTensor}), (Ranks{14, 15}));
  EXPECT_EQ(megatron.group(0, {Dimension::kData}), (Ranks{0, 2}));
  EXPECT_EQ(megatron.group(5, {Dimension::kData}), (Ranks{5, 7}));
  EXPECT_EQ(megatron.group(0, {Dimension::kPipeline}), (Ranks{0, 4, 8, 12}));
  EXPECT_EQ(megatron.group(3, {Dimension::kPipeline}), (Ranks{3, 7, 11, 15}));
}

TEST(RankGrid, OtherOrdersPutOthersSideBySide) {
  const RankGrid grouped = grid("tp=2,pp=4,order=tp-cp-ep-pp-dp", 16);
  EXPECT_EQ(grouped.group(0, {Dimension::kPipeline}), (Ranks{0, 2, 4, 6}));
  EXPECT_EQ(grouped.group(0, {Dimension::kData}), (Ranks{0, 8}));
}

// Experts have a grid of their own: with etp 1 they lie on neighbours that share no expert's
// weights.
TEST(RankGrid, ExpertsLieAcrossTensorAndData) {
  const RankGrid experts = grid("tp=2,ep=4,etp=1", 8);
  EXPECT_EQ(experts.expert_group(5, Dimension::kExpert), (Ranks{4, 5, 6, 7}));
  EXPECT_EQ(experts.expert_group(5, Dimension::kData), (Ranks{1, 5}));
}

// Those that share a copy of the state lie next to each other; across them, those with the same
// share. Experts' copies are parted among the same ranks.
TEST(RankGrid, ReplicasOfHybridShardingLieApart) {
  const RankGrid hybrid = grid("tp=2,zero=3,dp_shard=2", 8);
  EXPECT_EQ(hybrid.group(1, {Dimension::kData}), (Ranks{1, 3}));
  EXPECT_EQ(hybrid.group(1, {Dimension::kReplica}), (Ranks{1, 5}));
  const RankGrid context = grid("cp=2,zero=3,dp_shard=2", 8);
  EXPECT_EQ(context.group(5, {Dimension::kContext, Dimension::kData}), (Ranks{4, 5, 6, 7}));
  const RankGrid experts = grid("ep=2,zero=3,dp_shard=4", 8);
  EXPECT_EQ(experts.expert_group(5, Dimension::kExpert), (Ranks{4, 5}));
  EXPECT_EQ(experts.expert_group(5, Dimension::kData), (Ranks{5, 7}));
  EXPECT_EQ(experts.expert_group(5, Dimension::kReplica), (Ranks{1, 5}));
}

// Every rank is in one group of each dimension, and all of the group say the same.
TEST(RankGrid, GroupsPartTheRanks) {
  for (const std::string order : {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "pp-dp-ep-cp-tp"}) {
    for (const std::string degrees : {"tp=2,cp=2,pp=3", "tp=4,pp=2,ep=2,etp=1", "cp=4,ep=4",
                                      "tp=2,ep=4,etp=1,zero=3,dp_shard=6"}) {
      const RankGrid all = grid(degrees + ",order=" + order, 48);
      for (int rank = 0; rank < 48; ++rank) {
        EXPECT_EQ(all.rank_at(all.place_of(rank)), rank);
        for (const Dimension dimension : {Dimension::kTensor, Dimension::kContext, Dimension::kData,
                                          Dimension::kReplica, Dimension::kPipeline}) {
          const Ranks group = all.group(rank, {dimension});
          EXPECT_TRUE(std::binary_search(group.begin(), group.end(), rank));
          for (const int member : group) EXPECT_EQ(all.group(member, {dimension}), group);
        }
        for (const Dimension dimension :
             {Dimension::kExpert, Dimension::kData, Dimension::kReplica}) {
          const Ranks group = all.expert_group(rank, dimension);
          EXPECT_TRUE(std::binary_search(group.begin(), group.end(), rank));
          for (const int member : group) EXPECT_EQ(all.expert_group(member, dimension), group);
        }
      }
    }
  }
}

}  // namespace
}  // namespace forescale
