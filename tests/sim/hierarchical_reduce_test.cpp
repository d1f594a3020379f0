// S-Caffe's HR (Tuned): the stack's rules for reduce, which models/stacks/rebuild_hr.py makes.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/plan_choice.hpp"
#include "tests/sim/simulations.hpp"
#include "topologies/platform.hpp"

namespace forescale::testing {
namespace {

constexpr std::int64_t kKiB = 1 << 10;
constexpr std::int64_t kMiB = 1 << 20;

double reduce_s(const Platform& platform, const Stack& stack, int ranks, std::int64_t bytes,
                const std::string& plan) {
  return in_child([&] {
    SessionOptions options;
    if (!plan.empty()) options.choices[CollectiveOp::kReduce] = parse_plan(plan, "test");
    const CollectiveStep step{.op = CollectiveOp::kReduce, .bytes = bytes, .label = "test"};
    return simulate_collective(platform, stack, step, ranks, options).time_s;
  });
}

struct Question {
  const char* platform;
  int ranks;
  std::int64_t bytes;
};

// Section 6.5: the fastest combination for each size and number of processes. Within the 1 % for
// which rules do not change.
TEST(HierarchicalReduce, IsTheFastestCombination) {
  const Stack tuned = load_stack("mvapich2-gdr");
  const Stack own = load_stack("mvapich2-gdr-no-hr");
  Stack on_gpus = tuned;
  SelectionRule rule;
  rule.algorithm = "binomial";
  on_gpus.selection["reduce"] = {rule};
  for (const Question& question :
       {Question{"kesch", 160, 4 * kKiB}, Question{"kesch", 160, 64 * kKiB},
        Question{"kesch", 160, kMiB}, Question{"kesch", 160, 16 * kMiB},
        Question{"kesch", 8, 64 * kMiB}, Question{"kesch", 32, 8 * kMiB},
        Question{"kesch", 64, 64 * kMiB}, Question{"cluster-b", 16, 8 * kMiB}}) {
    const Platform platform = load_platform(question.platform);
    double fastest_s = reduce_s(platform, own, question.ranks, question.bytes, "");
    for (const char* plan :
         {"reduce/binomial", "reduce/chain:chunk_bytes=512KiB",
          "reduce/cc:chain_size=4,chunk_bytes=512KiB", "reduce/cc:chain_size=8,chunk_bytes=512KiB",
          "reduce/cc:chain_size=16,chunk_bytes=512KiB", "reduce/cb:chain_size=4,chunk_bytes=512KiB",
          "reduce/cb:chain_size=8,chunk_bytes=512KiB"})
      fastest_s =
          std::min(fastest_s, reduce_s(platform, on_gpus, question.ranks, question.bytes, plan));
    EXPECT_LE(reduce_s(platform, tuned, question.ranks, question.bytes, ""), 1.0101 * fastest_s)
        << question.platform << " " << question.ranks << " " << question.bytes;
  }
}

// What messages between GPUs cost more than the copy is not paid by short vectors: they are added
// in host memory, as without HR.
TEST(HierarchicalReduce, LeavesShortVectorsToTheHost) {
  const Platform kesch = load_platform("kesch");
  for (const std::int64_t bytes : {kKiB, 4 * kKiB, 64 * kKiB})
    EXPECT_DOUBLE_EQ(reduce_s(kesch, load_stack("mvapich2-gdr"), 160, bytes, ""),
                     reduce_s(kesch, load_stack("mvapich2-gdr-no-hr"), 160, bytes, ""));
}

}  // namespace
}  // namespace forescale::testing
