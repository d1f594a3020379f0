// Every plan in the registry, checked without being timed.
#include <gtest/gtest.h>

#include "algorithms/check/plan_check.hpp"
#include "tests/algorithms/call_variants.hpp"

namespace forescale::testing {
namespace {

class EveryCollective : public ::testing::TestWithParam<int> {};

void expect_right(const Collective& collective, const CollectiveCall& call) {
  const std::vector<std::string> problems = check_plan(collective, call);
  EXPECT_TRUE(problems.empty()) << to_text(collective, call) << ": " << problems.front();
}

// 17, 1, 257 and 0 elements; 61 bytes are no whole number of elements.
TEST_P(EveryCollective, DeliversEveryContributionOnce) {
  const int rank_count = GetParam();
  for (const Collective* collective : all_collectives()) {
    const Variants few = {.chunk_bytes = {0, 4 * 5, 4 * 100},
                          .chain_sizes = {3, 4},
                          .levels = {"", "flat:2,chain:3,flat"}};
    for (const std::int64_t bytes : {4 * 17, 4 * 1, 0, 61})
      for (const CollectiveCall& call : calls_of(*collective, rank_count, bytes, few))
        expect_right(*collective, call);
    const Variants long_vector = {
        .chunk_bytes = {4 * 13}, .chain_sizes = {1, 8}, .levels = {"chain:4,chain:2,binomial"}};
    for (const CollectiveCall& call : calls_of(*collective, rank_count, 4 * 257, long_vector))
      expect_right(*collective, call);
  }
}

INSTANTIATE_TEST_SUITE_P(RankCounts, EveryCollective, ::testing::Range(1, 34));

// Chunks of a single element, as many as one gets: pipelines longer than the look-back.
TEST(EveryCollectiveOnce, KeepsItsLookBackInLongPipelines) {
  for (const Collective* collective : all_collectives())
    for (const int rank_count : {2, 5, 8, 13}) {
      const Variants tiny = {.chunk_bytes = {1}, .chain_sizes = {2}, .levels = {"chain:2,chain"}};
      for (const CollectiveCall& call : calls_of(*collective, rank_count, 4 * 257, tiny))
        expect_right(*collective, call);
    }
}

TEST(EveryCollectiveOnce, HoldsAtHundredAndSixtyRanks) {
  for (const Collective* collective : all_collectives()) {
    const Variants one = {.chunk_bytes = {4 * 40}, .chain_sizes = {8}, .levels = {""}};
    for (const CollectiveCall& call : calls_of(*collective, 160, 4 * 163, one))
      if (call.root != 0 || !has_root(collective->op)) expect_right(*collective, call);
  }
}

TEST(EveryCollectiveOnce, SaysWhatItIs) {
  for (const Collective* collective : all_collectives()) {
    EXPECT_FALSE(collective->summary.empty()) << collective->name;
    EXPECT_FALSE(collective->source.empty()) << collective->name;
  }
}

// What the tuned reduce chooses beyond 8 MiB differs by the number of ranks only.
TEST(TunedReduce, IsTheNamedAlgorithmOfItsRange) {
  const Collective& tuned = find_collective(CollectiveOp::kReduce, "tuned", "test");
  const StepCost cost{.alpha_s = 1e-6, .beta_s_per_byte = 1e-10};
  struct Choice {
    int rank_count;
    std::int64_t bytes;
    const char* algorithm;
  };
  constexpr std::int64_t kMiB = 1 << 20;
  for (const Choice& choice : {Choice{160, 8 * kMiB, "binomial"}, Choice{8, 9 * kMiB, "chain"},
                               Choice{64, 9 * kMiB, "cc"}, Choice{65, 9 * kMiB, "cb"}}) {
    CollectiveCall call{.rank_count = choice.rank_count, .bytes = choice.bytes};
    call.options.set("chunk_bytes", kMiB);
    const Collective& named = find_collective(CollectiveOp::kReduce, choice.algorithm, "test");
    EXPECT_EQ(*tuned.closed_form(call, cost), *named.closed_form(call, cost)) << choice.algorithm;
  }
}

}  // namespace
}  // namespace forescale::testing
