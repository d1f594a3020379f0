// How many messages and bytes plans send, against the textbook.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algorithms/collective.hpp"

namespace forescale {
namespace {

struct Traffic {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

Traffic sent_by(const Collective& collective, const CollectiveCall& call, int rank) {
  Traffic traffic;
  for (OpStream plan = message_plan(collective, call, rank); plan.next();) {
    if (plan.op().kind != OpKind::kSend) continue;
    ++traffic.messages;
    traffic.bytes += plan.op().bytes;
  }
  return traffic;
}

Traffic sent_by_all(CollectiveOp op, const std::string& algorithm, const CollectiveCall& call) {
  const Collective& collective = find_collective(op, algorithm, "test");
  Traffic sum;
  for (int rank = 0; rank < call.rank_count; ++rank) {
    const Traffic one = sent_by(collective, call, rank);
    sum.messages += one.messages;
    sum.bytes += one.bytes;
  }
  return sum;
}

constexpr std::int64_t kBytes = 4 * 48 * 35;
constexpr int kRanks = 12;
const CollectiveCall kCall{.rank_count = kRanks, .bytes = kBytes};

TEST(Messages, ARingSendsTwoBlocksLessThanTwiceTheRanks) {
  const Collective& ring = find_collective(CollectiveOp::kAllReduce, "ring", "test");
  for (int rank = 0; rank < kRanks; ++rank) {
    const Traffic traffic = sent_by(ring, kCall, rank);
    EXPECT_EQ(traffic.messages, 2 * (kRanks - 1));
    EXPECT_EQ(traffic.bytes, 2 * (kRanks - 1) * kBytes / kRanks);
  }
}

TEST(Messages, TreesSendOneVectorARankButTheRoot) {
  for (const char* algorithm : {"flat", "binomial"}) {
    const Traffic reduce = sent_by_all(CollectiveOp::kReduce, algorithm, kCall);
    EXPECT_EQ(reduce.messages, kRanks - 1) << algorithm;
    EXPECT_EQ(reduce.bytes, (kRanks - 1) * kBytes) << algorithm;
    const Traffic broadcast = sent_by_all(CollectiveOp::kBroadcast, algorithm, kCall);
    EXPECT_EQ(broadcast.messages, kRanks - 1) << algorithm;
  }
}

TEST(Messages, AChainSendsEveryChunkOverEveryHop) {
  CollectiveCall call = kCall;
  call.options.set("chunk_bytes", 1000);  // 6720 bytes in 7 chunks
  for (const char* algorithm : {"chain", "cc"}) {
    const Traffic traffic = sent_by_all(CollectiveOp::kReduce, algorithm, call);
    EXPECT_EQ(traffic.messages, 7 * (kRanks - 1)) << algorithm;
    EXPECT_EQ(traffic.bytes, (kRanks - 1) * kBytes) << algorithm;
  }
}

// Jeaugey, arXiv 2506.20252. Of 16 ranks half have trees side by side, so rounds are of 1, 2, 4 and
// 8 blocks: a message each while a step holds eight; of steps that hold two, and one, as many as it
// takes.
TEST(Messages, ParallelAggregatedTreesSendFewWhileAStepHoldsMuch) {
  constexpr std::int64_t kBlock = 32 << 10;
  const auto messages = [&](CollectiveOp op, std::int64_t step_bytes) {
    CollectiveCall call{.rank_count = 16, .bytes = 16 * kBlock};
    if (step_bytes > 0) call.options.set("chunk_bytes", step_bytes);
    const Traffic traffic = sent_by(find_collective(op, "pat", "test"), call, 5);
    EXPECT_EQ(traffic.bytes, 15 * kBlock);
    return traffic.messages;
  };
  for (const CollectiveOp op : {CollectiveOp::kAllGather, CollectiveOp::kReduceScatter}) {
    EXPECT_EQ(messages(op, 0), 4);
    EXPECT_EQ(messages(op, 2 * kBlock), 1 + 1 + 2 + 4);
    EXPECT_EQ(messages(op, kBlock), 1 + 2 + 4 + 8);
    EXPECT_EQ(messages(op, 8 * kBlock), messages(op, 2 * kBlock))
        << "64 KiB, as the vector has not 16 of more";
  }
}

// Of nine ranks four have trees side by side, four apart, in messages of two: inwards, as NCCL puts
// them together, of trees that are far apart, outwards of neighbours. Where ranks are missing, that
// makes a difference.
TEST(Messages, ParallelAggregatedTreesPutOthersTogetherInwards) {
  CollectiveCall call{.rank_count = 9, .bytes = 9 * (32 << 10)};
  call.options.set("chunk_bytes", 64 << 10);
  EXPECT_EQ(sent_by(find_collective(CollectiveOp::kAllGather, "pat", "test"), call, 0).messages, 5);
  EXPECT_EQ(sent_by(find_collective(CollectiveOp::kReduceScatter, "pat", "test"), call, 0).messages,
            8);
}

TEST(Messages, ParallelAggregatedTreesHaveEightStepsUnderWay) {
  // Blocks of a step: eight trees, so that of 64 ranks eight rounds are along the trees.
  constexpr std::int64_t kBlock = 64 << 10;
  CollectiveCall call{.rank_count = 64, .bytes = 64 * kBlock};
  call.options.set("chunk_bytes", kBlock);
  std::vector<int> peers;
  for (OpStream plan =
           message_plan(find_collective(CollectiveOp::kAllGather, "pat", "test"), call, 0);
       plan.next();)
    if (plan.op().kind == OpKind::kSend && (peers.empty() || peers.back() != plan.op().peer))
      peers.push_back(plan.op().peer);
  // Far hops first: 32, 16 and 8 ranks down between roots; then along trees of eight: 4, 6, 7, 5,
  // 2, 3, 1.
  EXPECT_EQ(peers, (std::vector<int>{32, 48, 56, 60, 62, 63, 62, 63}));
}

TEST(Messages, RecursiveAlgorithmsSendAMessageARound) {
  CollectiveCall call = kCall;
  call.rank_count = 16;
  const Traffic doubling = sent_by_all(CollectiveOp::kAllReduce, "recursive-doubling", call);
  EXPECT_EQ(doubling.messages, 16 * 4);
  EXPECT_EQ(doubling.bytes, 16 * 4 * kBytes);
  const Traffic halving = sent_by_all(CollectiveOp::kAllReduce, "halving-doubling", call);
  EXPECT_EQ(halving.messages, 16 * 2 * 4);
  EXPECT_EQ(halving.bytes, 2 * 15 * kBytes);  // 2 (P-1)/P b a rank
}

TEST(Messages, FoldingCostsAVectorInAndOneOut) {
  // 12 = 8 + 4: four pairs, then 8 ranks with 3 rounds.
  const Traffic doubling = sent_by_all(CollectiveOp::kAllReduce, "recursive-doubling", kCall);
  EXPECT_EQ(doubling.messages, 4 + 8 * 3 + 4);
}

TEST(Messages, DoubleTreeSendsEachHalfUpAndDownEveryEdge) {
  const Traffic traffic = sent_by_all(CollectiveOp::kAllReduce, "double-binary-tree", kCall);
  EXPECT_EQ(traffic.messages, 2 * 2 * (kRanks - 1));
  EXPECT_EQ(traffic.bytes, 2 * (kRanks - 1) * kBytes);
}

// Twelve ranks in three groups of four: eleven edges in each of two trees.
TEST(Messages, GroupedTreesSendEachChunkUpAndDownEveryEdge) {
  CollectiveCall call = kCall;
  call.options.set("chain_size", 4);
  call.options.set("chunk_bytes", kBytes / 2 / 5);
  for (const char* algorithm : {"chain-tree", "star-tree"}) {
    const Traffic traffic = sent_by_all(CollectiveOp::kAllReduce, algorithm, call);
    EXPECT_EQ(traffic.messages, 2 * 2 * 5 * (kRanks - 1)) << algorithm;
    EXPECT_EQ(traffic.bytes, 2 * (kRanks - 1) * kBytes) << algorithm;
  }
}

// One group is one tree: a chain's middle sends the vector up and down, a star's leaf up only.
TEST(Messages, GroupedTreesOfOneGroupAreAChainAndAStar) {
  CollectiveCall call = kCall;
  call.options.set("chain_size", kRanks);
  const auto bytes = [&](const char* algorithm, int rank) {
    return sent_by(find_collective(CollectiveOp::kAllReduce, algorithm, "test"), call, rank).bytes;
  };
  EXPECT_EQ(bytes("chain-tree", 0), kBytes);
  EXPECT_EQ(bytes("chain-tree", 5), 2 * kBytes);
  EXPECT_EQ(bytes("chain-tree", kRanks - 1), kBytes);
  EXPECT_EQ(bytes("star-tree", 0), (kRanks - 1) * kBytes);
  EXPECT_EQ(bytes("star-tree", 5), kBytes);
}

// With two groups the first ranks exchange half of the vector each way in either tree: once the
// vector over the network, where a ring of all ranks sends nearly twice.
TEST(Messages, GroupedTreesOfTwoGroupsSendTheVectorOnceBetweenThem) {
  CollectiveCall call = kCall;
  call.options.set("chain_size", kRanks / 2);
  const Collective& tree = find_collective(CollectiveOp::kAllReduce, "chain-tree", "test");
  std::int64_t across = 0;
  for (int rank = 0; rank < kRanks / 2; ++rank)
    for (OpStream plan = tree.plan(call, rank); plan.next();)
      if (plan.op().kind == OpKind::kSend && plan.op().peer >= kRanks / 2)
        across += plan.op().bytes;
  EXPECT_EQ(across, kBytes);
}

TEST(Messages, BlocksTravelOnceInFlatAndPairwise) {
  const std::int64_t others = kBytes / kRanks * (kRanks - 1);
  EXPECT_EQ(sent_by_all(CollectiveOp::kGather, "flat", kCall).bytes, others);
  EXPECT_EQ(sent_by_all(CollectiveOp::kScatter, "flat", kCall).bytes, others);
  for (const char* algorithm : {"pairwise", "linear"}) {
    const Traffic traffic = sent_by_all(CollectiveOp::kAllToAll, algorithm, kCall);
    EXPECT_EQ(traffic.messages, kRanks * (kRanks - 1)) << algorithm;
    EXPECT_EQ(traffic.bytes, kRanks * others) << algorithm;
  }
  EXPECT_EQ(sent_by_all(CollectiveOp::kReduceScatter, "pairwise", kCall).bytes, kRanks * others);
  EXPECT_EQ(sent_by_all(CollectiveOp::kAllGather, "ring", kCall).bytes, kRanks * others);
  EXPECT_EQ(sent_by_all(CollectiveOp::kAllGather, "bruck", kCall).bytes, kRanks * others);
}

TEST(Messages, NoneForNothingAndNoneAlone) {
  for (const Collective* collective : all_collectives())
    for (const CollectiveCall& call : {CollectiveCall{.rank_count = 8, .bytes = 0},
                                       CollectiveCall{.rank_count = 1, .bytes = 64}})
      if (collective->refuse == nullptr || collective->refuse(call).empty()) {
        EXPECT_EQ(sent_by(*collective, call, 0).messages, 0) << collective->name;
      }
}

}  // namespace
}  // namespace forescale
