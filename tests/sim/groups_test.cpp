// Collectives of any ranks of a platform, not its first ones: on every preset with its stack.
#include <gtest/gtest.h>

#include <set>

#include "base/data_files.hpp"
#include "models/stack.hpp"
#include "sim/bounds.hpp"
#include "sim/cost_engine.hpp"
#include "tests/sim/patterns.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

struct PresetStack {
  const char* platform;
  const char* stack;
};

const std::vector<PresetStack>& presets() {
  static const std::vector<PresetStack> all = {{"alps-gh200", "nccl-2.23-gh200"},
                                               {"aws-p2.16xlarge", "mvapich2-2.3"},
                                               {"aws-p2.8xlarge", "mvapich2-2.3"},
                                               {"aws-p2.xlarge", "mvapich2-2.3"},
                                               {"aws-p3dn", "nccl-2.4-v100-efa"},
                                               {"aws-p4de", "nccl-2.23-a100-efa"},
                                               {"aws-p5", "nccl-2.23-h100-efa"},
                                               {"aws-p6-b200", "nccl-2.29-b200-efa"},
                                               {"azure-nd-mi300x", "rccl-2.22-mi300x"},
                                               {"cluster-b", "mvapich2-gdr"},
                                               {"dell-r750xa", "nccl-2.29-pcie"},
                                               {"dgx-1-p100", "nccl-2.3"},
                                               {"dgx-1-v100", "nccl-2.23-v100"},
                                               {"dgx-a100", "nccl-2.23-a100"},
                                               {"dgx-b200", "nccl-2.29-b200"},
                                               {"dgx-b300", "nccl-2.29-b300"},
                                               {"dgx-h100", "nccl-2.23-h100"},
                                               {"dgx-h100-superpod", "nccl-2.23-h100"},
                                               {"dgx-h200", "nccl-2.23-h100"},
                                               {"gb200-nvl72", "nccl-gb200-nvl72"},
                                               {"gb200-superpod", "nccl-gb200-nvl72"},
                                               {"gb300-nvl72", "nccl-gb200-nvl72"},
                                               {"gce-k80x8", "nccl-1-pcie"},
                                               {"gcp-a3-high", "nccl-2.20-h100-tcpx"},
                                               {"gcp-a3-mega", "nccl-2.23-h100-tcpxo"},
                                               {"k40-ethernet-10g", "poseidon-sockets"},
                                               {"k40-ethernet-1g", "poseidon-sockets"},
                                               {"kesch", "mvapich2-gdr"},
                                               {"l40s-server", "nccl-2.29-pcie"},
                                               {"minsky", "nccl-2.3"},
                                               {"oci-bm-gpu4", "nccl-2.23-a100"},
                                               {"owens", "mvapich2-gdr-opt"},
                                               {"piz-daint", "cray-mpich-aries"},
                                               {"ri2", "mvapich2-gdr-opt"},
                                               {"rtx-pro-server", "nccl-2.29-pcie"},
                                               {"susitna", "poseidon-sockets"},
                                               {"susitna-ethernet-10g", "poseidon-sockets"},
                                               {"susitna-ethernet-1g", "poseidon-sockets"},
                                               {"taurus-smp4", "mvapich2-gdr"}};
  return all;
}

TEST(Groups, AreTestedOnEveryPreset) {
  std::set<std::string> tested;
  for (const PresetStack& where : presets()) tested.insert(where.platform);
  for (const std::string& name : catalogue("topologies/presets"))
    EXPECT_EQ(tested.count(name), 1u) << name;
}

// Slots by node: `counts[i]` of node i's, every other one where it has so many.
std::vector<int> spread_slots(const Platform& platform, const std::vector<int>& counts) {
  const SlotGroup all = first_slots(platform, platform.slot_count());
  std::vector<int> slots;
  for (size_t node = 0; node < std::min(counts.size(), all.members_of_node.size()); ++node) {
    const std::vector<int>& members = all.members_of_node[node];
    const size_t count = std::min(members.size(), static_cast<size_t>(counts[node]));
    const size_t stride = 2 * count <= members.size() ? 2 : 1;
    for (size_t i = 0; i < count; ++i) slots.push_back(members[i * stride]);
  }
  return slots;
}

class Presets : public ::testing::TestWithParam<PresetStack> {};

// One a node, two a node, as many as they come, and in no order.
TEST_P(Presets, HaveAnAnswerForEveryGroupWhichNoFloorExceeds) {
  const Platform platform = load_platform(GetParam().platform);
  const Stack stack = load_stack(GetParam().stack);
  const Lanes lanes(platform, stack);
  std::vector<std::vector<int>> groups = {spread_slots(platform, {1, 1, 1, 1, 1}),
                                          spread_slots(platform, {2, 2, 2}),
                                          spread_slots(platform, {3, 1, 2})};
  std::vector<int> mixed = groups.back();
  std::reverse(mixed.begin() + 1, mixed.end());
  groups.push_back(mixed);
  std::vector<ResolvedCall> calls;
  for (const std::vector<int>& slots : groups)
    for (const CollectiveOp op :
         {CollectiveOp::kAllReduce, CollectiveOp::kBroadcast, CollectiveOp::kAllGather})
      for (const std::int64_t bytes : {4096, 4 << 20})
        if (slots.size() > 1 && stack.selection.count(name_of(op)) != 0)
          calls.push_back(
              resolve(lanes, shared_group(platform, slots), {.op = op, .bytes = bytes}));
  std::vector<std::function<double()>> tasks;
  for (const ResolvedCall& call : calls)
    tasks.emplace_back([&] {
      const std::vector<int>& slots = call.group->slots;
      const int last = *std::max_element(slots.begin(), slots.end());
      return simulate_collective(platform, stack,
                                 {.op = call.collective->op,
                                  .bytes = call.call.bytes,
                                  .label = "group",
                                  .group = std::make_shared<const std::vector<int>>(slots)},
                                 last + 1, {})
          .time_s;
    });
  const std::vector<double> times_s = in_children(tasks);
  for (size_t i = 0; i < calls.size(); ++i) {
    const ResolvedCall& call = calls[i];
    const std::string what = call.collective->name + " of " + std::to_string(call.call.bytes) +
                             " bytes, group " + std::to_string(i);
    const Bound bound = collective_bound(call);
    EXPECT_GT(bound.time_s, 0) << what;
    EXPECT_GE(times_s[i], bound.time_s * (1 - 1e-9)) << what << ": " << bound.reason;
    if (!call.why_not_priced().empty()) continue;
    EXPECT_GE(evaluate_cost(call).time_s, bound.time_s * (1 - 1e-9))
        << what << ": " << bound.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Presets, ::testing::ValuesIn(presets()), [](const auto& preset) {
  std::string name = preset.param.platform;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

// Both engines, the command and a program say the same of ranks 1, 4, 7, ... of a star.
TEST(Groups, CostTheSameInBothEnginesAndInsideAProgram) {
  const Platform platform = load_platform(star_of(16));
  const Stack stack = load_stack("ideal");
  const Lanes lanes(platform, stack);
  const std::vector<int> slots = {1, 4, 7, 10, 13};
  const PlanChoice plan = parse_plan("reduce/chain:chunk_bytes=64KiB", "test");
  const ResolvedCall call =
      resolve(lanes, shared_group(platform, slots),
              {.op = CollectiveOp::kReduce, .bytes = 1 << 20, .root = 2, .plan = &plan});
  SessionOptions options;
  options.choices[CollectiveOp::kReduce] = plan;
  CollectiveStep step{.op = CollectiveOp::kReduce, .bytes = 1 << 20, .root = 2, .label = "group"};
  // Every rank has a handle of its own of the same ranks.
  const double inside_s = in_child([&] {
    const std::vector<double> ends_s =
        program_ends_s(platform, stack, 16, options, [&](Worker& worker) {
          if (worker.rank() % 3 != 1 || worker.rank() > 13) return;
          CollectiveStep mine = step;
          mine.group = std::make_shared<const std::vector<int>>(slots);
          worker.run(mine);
        });
    return *std::max_element(ends_s.begin(), ends_s.end());
  });
  step.group = std::make_shared<const std::vector<int>>(slots);
  const double alone_s =
      in_child([&] { return simulate_collective(platform, stack, step, 14, options).time_s; });
  const double priced_s = evaluate_cost(call).time_s;
  EXPECT_NEAR(priced_s, (16 + 5 - 2) * (kAlpha_s + 65536 / kStarBytesPerS), 1e-9 * priced_s);
  EXPECT_NEAR(alone_s, priced_s, 1e-9 * priced_s);
  EXPECT_NEAR(inside_s, priced_s, 1e-9 * priced_s);
}

// A group of the first ranks is the first ranks.
TEST(Groups, OfTheFirstRanksAreNoSpecialCase) {
  const Platform platform = load_platform("dgx-h100");
  const Stack stack = load_stack("nccl-2.23-h100");
  const CollectiveStep step{.op = CollectiveOp::kAllReduce, .bytes = 8 << 20, .label = "group"};
  CollectiveStep of_group = step;
  of_group.group = std::make_shared<const std::vector<int>>(first_ranks(16));
  const auto time_s = [&](const CollectiveStep& what) {
    return in_child([&] { return simulate_collective(platform, stack, what, 16, {}).time_s; });
  };
  EXPECT_EQ(time_s(step), time_s(of_group));
}

// Through one adapter a node a ring moves 2 (P - 1)/P of the vector: the floor and the answer are
// of the ranks that call, not of the first ones, which stand on two nodes.
TEST(Groups, OfOneRankANodeGoThroughOneAdapterEach) {
  const Platform platform = load_platform("dgx-h100");
  const Stack stack = load_stack("nccl-2.23-h100");
  const Lanes lanes(platform, stack);
  std::vector<int> slots;
  for (int node = 0; node < 16; ++node) slots.push_back(8 * node);
  const SharedGroup group = shared_group(platform, slots);
  EXPECT_EQ(group->shape.nodes, 16);
  EXPECT_EQ(group->shape.ranks_per_node, 1);
  EXPECT_EQ(group->shape.stride, 8);
  const PlanChoice ring = parse_plan("all-reduce/ring", "test");
  constexpr std::int64_t kBytes = 1 << 30;
  const ResolvedCall call = resolve(
      lanes, group, {.op = CollectiveOp::kAllReduce, .bytes = kBytes, .root = 0, .plan = &ring});
  EXPECT_NE(call.why_not_priced().find("parts"), std::string::npos);
  for (const std::vector<int>& part : call.parts()) EXPECT_EQ(part, first_ranks(16));
  const CollectiveStep step{.op = CollectiveOp::kAllReduce,
                            .bytes = kBytes,
                            .label = "group",
                            .group = std::make_shared<const std::vector<int>>(slots)};
  SessionOptions options;
  options.choices[CollectiveOp::kAllReduce] = ring;
  const double time_s =
      in_child([&] { return simulate_collective(platform, stack, step, 121, options).time_s; });
  const double adapter_s = 2 * 15 / 16.0 * kBytes / 50e9;
  EXPECT_GE(time_s, 0.99 * adapter_s);
  EXPECT_LT(time_s, 1.2 * adapter_s);
}

// A message on a machine of 16,384 GPUs makes the links that it crosses, once.
TEST(Groups, OfFewMakeFewLinksOfALargeMachine) {
  for (const char* name : {"dgx-h100:nodes=2048", "dgx-h100:nodes=2"}) {
    const Platform platform = load_platform(name);
    const Stack stack = load_stack("nccl-2.23-h100");
    const std::vector<double> made = numbers_in_child([&]() -> std::vector<double> {
      const auto made = make_world();
      World& world = *made;
      Machine machine(world, platform, stack, platform.slot_count());
      const Lane& lane = machine.lanes().lane(0, 8, MessageKind(BufferPlace::kGpu), 1 << 20);
      const size_t before = machine.links_made();
      const size_t crossed = machine.path(lane, 0).links.size();
      const size_t once = machine.links_made();
      machine.path(lane, 0);
      return {static_cast<double>(before), static_cast<double>(crossed), static_cast<double>(once),
              static_cast<double>(machine.links_made())};
    });
    EXPECT_EQ(made[0], 0) << name;
    EXPECT_EQ(made[1], 6) << name;  // GPU, switch, adapter, the fabric's hub, and back up
    EXPECT_EQ(made[2], 6) << name;
    EXPECT_EQ(made[3], 6) << name;
  }
}

}  // namespace
}  // namespace forescale::testing
