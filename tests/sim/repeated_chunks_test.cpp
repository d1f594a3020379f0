// A few chunks of a pipeline against all of them: of every collective that cuts its vector, on
// platforms with and without links that are shared; and plans of which few chunks say nothing.
#include "sim/repeated_chunks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "algorithms/common_options.hpp"
#include "algorithms/operation.hpp"
#include "base/units.hpp"
#include "models/stack.hpp"
#include "sim/ask/isolated.hpp"
#include "sim/folded.hpp"
#include "sim/simulated_call.hpp"
#include "topologies/platform.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kChunk = 64 * kKiB;
constexpr std::int64_t kManyBytes = 4096 * kMiB;

struct PipelineMachine {
  PipelineMachine(const std::string& platform_name, const std::string& stack_name)
      : platform(load_platform(platform_name)), stack(load_stack(stack_name)) {}
  Platform platform;
  Stack stack;
  Lanes lanes{platform, stack};

  ResolvedCall call(const std::string& plan_text, int ranks, std::int64_t bytes) const {
    const PlanChoice plan = parse_plan(plan_text, "test");
    return resolve(lanes, shared_first_slots(platform, ranks),
                   {.op = plan.collective->op, .bytes = bytes, .plan = &plan});
  }
  ResolvedCall own_call(CollectiveOp op, int ranks, std::int64_t bytes) const {
    return resolve(lanes, shared_first_slots(platform, ranks), {.op = op, .bytes = bytes});
  }
};

CollectiveOutcome all_chunks(const ResolvedCall& call) {
  const auto simulate = [&] {
    SessionOptions options;  // no members stand for others
    options.choices[call.collective->op] = plan_of(call);
    options.rules_of = rules_of(call);
    return to_text(simulate_collective(call, options));
  };
  return collective_outcome(isolated<nlohmann::json>({simulate}, "simulating").front());
}

// Whether it was found.
bool few_are_as_all(const ResolvedCall& call) {
  const auto few = simulate_few_chunks(call);
  if (!few) return false;
  const CollectiveOutcome all = all_chunks(call);
  const double allowed = all.has_shared ? 1e-3 : 1e-9;
  EXPECT_NEAR(few->time_s / all.time_s, 1, allowed);
  EXPECT_EQ(few->messages, all.messages);
  EXPECT_DOUBLE_EQ(few->bytes_sent, all.bytes_sent);
  EXPECT_NEAR(few->busiest.busy_s / all.busiest.busy_s, 1, allowed);
  EXPECT_EQ(few->has_shared, all.has_shared);
  for (const auto& [name, root_s] : all.root_s)
    EXPECT_NEAR(few->root_s.at(name), root_s, allowed * all.time_s) << name;
  EXPECT_EQ(few->sizes.least, all.sizes.least);
  EXPECT_EQ(few->sizes.most, all.sizes.most);
  return true;
}

std::vector<const Collective*> collectives_with_chunks() {
  std::vector<const Collective*> found;
  for (const Collective* collective : all_collectives())
    if (find_option(*collective, kChunkBytes.name) != nullptr &&
        !operation(collective->op).has_blocks())
      found.push_back(collective);
  return found;
}

// Of the cost engine, whether it was found.
bool few_cost_as_all(const ResolvedCall& call) {
  const auto few = cost_of_few_chunks(call);
  if (!few) return false;
  const CostResult all = evaluate_cost(call);
  EXPECT_NEAR(few->time_s / all.time_s, 1, 1e-9);
  EXPECT_EQ(few->messages, all.messages);
  EXPECT_EQ(few->operations, all.operations);
  EXPECT_DOUBLE_EQ(few->bytes_sent, all.bytes_sent);
  return true;
}

class RepeatedChunks_OfEach : public ::testing::TestWithParam<const Collective*> {};

// An odd and an even number of chunks, and a last one that is smaller.
TEST_P(RepeatedChunks_OfEach, AreAllOfThem) {
  const Collective& collective = *GetParam();
  const PipelineMachine star("star:hosts=16,bandwidth=12.5GB/s,latency=1us", "ideal");
  const PipelineMachine crowded("fat-tree:down=4x4,up=2,bandwidth=12.5GB/s,latency=1us",
                                "openmpi-1.10");
  for (const PipelineMachine* machine : {&star, &crowded})
    for (const int ranks : {7, 16})
      for (const std::int64_t bytes : {601 * kChunk, 600 * kChunk + 5000}) {
        SCOPED_TRACE(fmt::format("{} of {} bytes, {} ranks on {}", collective.name, bytes, ranks,
                                 machine->platform.name));
        const bool is_found = few_are_as_all(
            machine->call(fmt::format("{}:chunk_bytes={}", collective.name, kChunk), ranks, bytes));
        // The ring of leaders has blocks of the whole vector.
        const bool is_chain = collective.algorithm == "chain" && machine == &star;
        const bool has_blocks = collective.name == "all-reduce/hierarchical" && ranks == 16;
        EXPECT_TRUE(is_found || !is_chain);
        EXPECT_TRUE(!is_found || !has_blocks);
        EXPECT_TRUE(is_found || collective.name != "reduce/cb");
      }
}

TEST_P(RepeatedChunks_OfEach, CostAsAllOfThem) {
  const Collective& collective = *GetParam();
  const PipelineMachine star("star:hosts=16,bandwidth=12.5GB/s,latency=1us", "ideal");
  const PipelineMachine nodes("kesch", "mvapich2-gdr");
  for (const PipelineMachine* machine : {&star, &nodes})
    for (const int ranks : {7, 16})
      for (const std::int64_t bytes : {4001 * kChunk, 4000 * kChunk + 5000}) {
        SCOPED_TRACE(fmt::format("{} of {} bytes, {} ranks on {}", collective.name, bytes, ranks,
                                 machine->platform.name));
        const ResolvedCall call =
            machine->call(fmt::format("{}:chunk_bytes={}", collective.name, kChunk), ranks, bytes);
        if (!call.why_not_priced().empty()) continue;
        EXPECT_TRUE(few_cost_as_all(call) || collective.algorithm != "chain");
      }
}

INSTANTIATE_TEST_SUITE_P(All, RepeatedChunks_OfEach, ::testing::ValuesIn(collectives_with_chunks()),
                         [](const auto& tested) {
                           std::string name = tested.param->name;
                           for (char& letter : name)
                             if (std::isalnum(static_cast<unsigned char>(letter)) == 0)
                               letter = '_';
                           return name;
                         });

struct PipelineOfALibrary {
  std::string platform;
  std::string stack;
  int ranks;
  std::int64_t bytes;
  std::string name;
};
class RepeatedChunks_OfALibrary : public ::testing::TestWithParam<PipelineOfALibrary> {};

TEST_P(RepeatedChunks_OfALibrary, AreAllOfThem) {
  const PipelineMachine machine(GetParam().platform, GetParam().stack);
  const ResolvedCall call =
      machine.own_call(CollectiveOp::kAllReduce, GetParam().ranks, GetParam().bytes);
  ASSERT_EQ(why_chunks_do_not_repeat(call), "");
  EXPECT_TRUE(few_are_as_all(call));
}

INSTANTIATE_TEST_SUITE_P(
    Where, RepeatedChunks_OfALibrary,
    ::testing::Values(
        PipelineOfALibrary{"dgx-h100", "nccl-2.23-h100:take=tree/ll128", 32, kManyBytes, "Trees"},
        PipelineOfALibrary{"dgx-h100", "nccl-2.23-h100:take=nvls_tree/simple", 32, kManyBytes,
                           "NvlsTrees"},
        PipelineOfALibrary{"dgx-b200", "nccl-2.29-b200:NCCL_COLLNET_ENABLE=1,NCCL_NVLS_ENABLE=0",
                           32, 2048 * kMiB, "CollNet"}),
    [](const auto& tested) { return tested.param.name; });

// Chains of 8 in chunks, and a binomial tree of their leaders, whose vectors are whole. By 16
// chunks it is the tree alone that is taken, which is seen.
TEST(RepeatedChunks, AreBelowLevelsThatAreNotCut) {
  const PipelineMachine nodes("kesch", "mvapich2-gdr");
  const ResolvedCall call = nodes.own_call(CollectiveOp::kReduce, 160, 1 << 30);
  ASSERT_EQ(plan_text(plan_of(call)), "reduce/tuned:chunk_bytes=512KiB");
  EXPECT_TRUE(few_are_as_all(call));

  // Open MPI sends up to 16 KiB in another way.
  const PipelineMachine hosts("fat-tree:down=4x4,up=2,bandwidth=12.5GB/s,latency=1us",
                              "openmpi-1.10");
  const auto of_chunks = [&](std::int64_t bytes) {
    return hosts.call(fmt::format("reduce/cb:chunk_bytes={}", bytes), 16, 601 * bytes);
  };
  EXPECT_FALSE(simulate_few_chunks(of_chunks(128)).has_value());
  EXPECT_TRUE(few_are_as_all(of_chunks(1024)));
}

// One chain of 48 ranks up and down again: nothing comes down before 94 chunks are on their way up,
// and from then on each port carries two a chunk.
TEST(RepeatedChunks, AreThoseOfAPipelineThatIsFull) {
  const PipelineMachine star("star:hosts=48,bandwidth=12.5GB/s,latency=1us", "ideal");
  const std::string plan =
      fmt::format("all-reduce/chain-tree:chunk_bytes={},chain_size=48", kChunk);
  EXPECT_TRUE(few_are_as_all(star.call(plan, 48, 4000 * kChunk)));
  EXPECT_FALSE(simulate_few_chunks(star.call(plan, 48, 1000 * kChunk)).has_value());
}

TEST(RepeatedChunks, AreNotTried) {
  const PipelineMachine star("star:hosts=1000,bandwidth=12.5GB/s,latency=1us", "ideal");
  const auto why = [&](const std::string& plan, int ranks, std::int64_t chunks) {
    return why_chunks_do_not_repeat(star.call(plan, ranks, chunks * kChunk));
  };
  const std::string chain = fmt::format("reduce/chain:chunk_bytes={}", kChunk);
  EXPECT_EQ(why("all-reduce/ring", 16, 10), "all-reduce/ring has no chunks");
  EXPECT_EQ(why(fmt::format("allgather/pat:chunk_bytes={}", kChunk), 1000, 1000),
            "its chunks are of blocks");
  EXPECT_EQ(why("reduce/chain", 16, 10), "it is one chunk");
  EXPECT_EQ(why(chain, 1000, 143), "there are few chunks");
  EXPECT_EQ(why(chain, 1000, 144), "");
  EXPECT_EQ(why(chain, 100, 999), "there are few messages");
  EXPECT_EQ(why(chain, 100, 1000), "");
}

// What is asked takes a few chunks for all, and says how near that is.
TEST(RepeatedChunks, StandForAllWhereThereAreVeryManyMessages) {
  const PipelineMachine star("star:hosts=64,bandwidth=12.5GB/s,latency=1us", "ideal");
  const ResolvedCall call =
      star.call(fmt::format("broadcast/chain:chunk_bytes={}", kChunk), 64, 10'000 * kChunk);
  FoundAlike alike(call);
  const auto few = repeat_where_it_pays(call, alike);
  ASSERT_TRUE(few.has_value());
  EXPECT_EQ(few->ranks, 64);
  EXPECT_EQ(few->error, 0);
  EXPECT_EQ(few->outcome.messages, 63U * 10'000);
  // 62 others before the last has its first: 1 us and 64 KiB at 12.5 GB/s each.
  EXPECT_NEAR(few->outcome.time_s / ((10'000 + 62) * (1e-6 + kChunk / 12.5e9)), 1, 1e-9);

  const PipelineMachine nodes("dgx-h100", "nccl-2.23-h100:take=tree/ll128");
  const ResolvedCall shared = nodes.own_call(CollectiveOp::kAllReduce, 32, kManyBytes);
  FoundAlike of_nodes(shared);
  const auto few_shared = repeat_where_it_pays(shared, of_nodes);
  ASSERT_TRUE(few_shared.has_value());
  EXPECT_EQ(few_shared->error, 0.001);
}

}  // namespace
}  // namespace forescale
