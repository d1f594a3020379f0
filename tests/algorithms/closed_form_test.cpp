// Closed forms against an exact evaluation of the plans, and against the formulas of the papers.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/algorithms/call_variants.hpp"
#include "tests/algorithms/reference_engine.hpp"

namespace forescale::testing {
namespace {

// A slow and a fast reduction: r > x and r < x, with their own fixed parts.
const std::vector<StepCost> kCosts = [] {
  std::vector<StepCost> costs;
  for (const bool overlaps : {false, true})
    for (const double gamma_s_per_byte : {3e-9, 1e-8, 4.7e-8})
      costs.push_back({.alpha_s = 5e-7,
                       .beta_s_per_byte = 1e-8,
                       .reduce_alpha_s = 2e-7,
                       .gamma_s_per_byte = gamma_s_per_byte,
                       .reduction_overlaps = overlaps});
  return costs;
}();

struct Tally {
  int known = 0;
  int all = 0;
};

// Agreement wherever the form gives a value, sizes even or not; returns how often it does.
Tally compare(const Collective& collective, int rank_count, std::int64_t bytes,
              const Variants& variants) {
  Tally tally;
  for (const CollectiveCall& call : calls_of(collective, rank_count, bytes, variants))
    for (const StepCost& cost : kCosts) {
      ++tally.all;
      const std::optional<double> form_s = collective.closed_form(call, cost);
      if (!form_s) continue;
      ++tally.known;
      const double exact_s = ReferenceEngine(collective, call, cost).run_s();
      EXPECT_NEAR(*form_s, exact_s, 1e-9 * exact_s + 1e-18)
          << to_text(collective, call) << (cost.reduction_overlaps ? " overlapped" : "")
          << " gamma " << cost.gamma_s_per_byte;
    }
  return tally;
}

class ClosedForm : public ::testing::TestWithParam<int> {};

TEST_P(ClosedForm, AgreesWithTheExactTime) {
  const int rank_count = GetParam();
  const Variants variants = {.chunk_bytes = {0, 4 * 5, 4 * 16},
                             .chain_sizes = {1, 3, 4},
                             .levels = {"", "chain:4,chain:2,binomial", "flat:3,binomial:2,chain"}};
  for (const Collective* collective : all_collectives())
    for (const std::int64_t bytes : {0, 4, 4 * 16, 4 * 17, 4 * 48, 4 * 83, 4 * 480})
      compare(*collective, rank_count, bytes, variants);
}

INSTANTIATE_TEST_SUITE_P(RankCounts, ClosedForm,
                         ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17,
                                           20, 24, 31, 32, 33));

// Equal blocks: the known formulas must be there, whatever the number of ranks.
TEST(ClosedFormIsKnown, ForEqualBlocks) {
  const std::map<std::string, bool> partly = {{"all-reduce/chain-tree", true},
                                              {"all-reduce/star-tree", true},
                                              {"all-reduce/double-binary-tree", true},
                                              {"all-reduce/recursive-doubling", true},
                                              {"allgather/bruck", true}};
  const Variants variants = {.chunk_bytes = {0, 4 * 7}, .chain_sizes = {4}, .levels = {""}};
  for (const Collective* collective : all_collectives())
    for (const int rank_count : {2, 3, 5, 8, 12, 16}) {
      const Tally tally = compare(*collective, rank_count, 4 * 240, variants);
      if (partly.count(collective->name) == 0) {
        EXPECT_EQ(tally.known, tally.all) << collective->name << " ranks " << rank_count;
      }
    }
}

double form_s(CollectiveOp op, const std::string& algorithm, const CollectiveCall& call,
              const StepCost& cost) {
  return find_collective(op, algorithm, "test").closed_form(call, cost).value();
}

// S-Caffe equations 1 and 2 with t = x + r; n chunks of c bytes.
TEST(Papers, SCaffeEquations) {
  const StepCost cost = kCosts.front();
  CollectiveCall call{.rank_count = 160, .bytes = 64 << 20};
  call.options = {{"chunk_bytes", 1 << 20}};
  const double whole_s = cost.step_s(64 << 20);
  const double chunk_s = cost.step_s(1 << 20);
  const auto chain_s = [&](int ranks) { return (64 + ranks - 2) * chunk_s; };
  const auto near = [](double expected_s) { return 1e-12 * expected_s; };

  const double binomial_s = 8 * whole_s;  // ceil(log2 160) = 8
  EXPECT_NEAR(form_s(CollectiveOp::kReduce, "binomial", call, cost), binomial_s, near(binomial_s));
  EXPECT_NEAR(form_s(CollectiveOp::kReduce, "chain", call, cost), chain_s(160), near(chain_s(160)));
  const double cc_s = chain_s(8) + chain_s(20);
  EXPECT_NEAR(form_s(CollectiveOp::kReduce, "cc", call, cost), cc_s, near(cc_s));
  const double cb_s = chain_s(8) + 5 * whole_s;  // ceil(log2 20) = 5
  EXPECT_NEAR(form_s(CollectiveOp::kReduce, "cb", call, cost), cb_s, near(cb_s));
  const double ccb_s = chain_s(8) + chain_s(8) + 2 * whole_s;  // 160 / 64 -> 3 leaders
  EXPECT_NEAR(form_s(CollectiveOp::kReduce, "ccb", call, cost), ccb_s, near(ccb_s));
}

TEST(Papers, OverlappedChain) {
  const StepCost cost = kCosts.back();
  CollectiveCall call{.rank_count = 8, .bytes = 64 << 20};
  call.options.set("chunk_bytes", 1 << 20);
  const double x_s = cost.transfer_s(1 << 20);
  const double r_s = cost.reduce_s(1 << 20);
  const double expected_s = 7 * (x_s + r_s) + 63 * std::max(x_s, r_s);
  EXPECT_NEAR(form_s(CollectiveOp::kReduce, "chain", call, cost), expected_s, 1e-12 * expected_s);
}

TEST(Papers, AllReduceOfEqualBlocks) {
  const StepCost cost = kCosts.front();
  const CollectiveCall call{.rank_count = 16, .bytes = 1 << 20};
  const double bytes = 1 << 20;
  const double a = cost.alpha_s, b = cost.beta_s_per_byte;
  const double ra = cost.reduce_alpha_s, g = cost.gamma_s_per_byte;
  const double ring_s = 15 * (2 * a + ra + bytes / 16 * (2 * b + g));
  EXPECT_NEAR(form_s(CollectiveOp::kAllReduce, "ring", call, cost), ring_s, 1e-12 * ring_s);
  const double halving_s = 4 * (2 * a + ra) + bytes * 15 / 16 * (2 * b + g);
  EXPECT_NEAR(form_s(CollectiveOp::kAllReduce, "halving-doubling", call, cost), halving_s,
              1e-12 * halving_s);
  const double doubling_s = 4 * (a + ra + bytes * (b + g));
  EXPECT_NEAR(form_s(CollectiveOp::kAllReduce, "recursive-doubling", call, cost), doubling_s,
              1e-12 * doubling_s);
}

// The pipelined double tree must beat its own unpipelined self and approach 2 b beta.
TEST(DoubleBinaryTree, PipelinesItsChunks) {
  const Collective& tree = find_collective(CollectiveOp::kAllReduce, "double-binary-tree", "test");
  const StepCost bandwidth_only{.beta_s_per_byte = 1e-9, .reduction_overlaps = true};
  for (const int rank_count : {8, 13, 32}) {
    CollectiveCall call{.rank_count = rank_count, .bytes = 4 * 8192};
    call.options.set("chunk_bytes", 4 * 32);
    const double floor_s = 2.0 * 4 * 8192 * 1e-9 * (rank_count - 1) / rank_count;
    const double time_s = ReferenceEngine(tree, call, bandwidth_only).run_s();
    EXPECT_GE(time_s, floor_s);
    EXPECT_LE(time_s, 1.35 * floor_s) << rank_count;
  }
}

}  // namespace
}  // namespace forescale::testing
