// A layout simulated rank by rank against its folded prediction: the same where groups share
// nothing, and never less.
#include "studies/layout/layout_program.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <tuple>
#include <utility>

#include "sim/ask/isolated.hpp"
#include "sim/run/simulate.hpp"
#include "studies/layout/layout_prediction.hpp"

namespace forescale {
namespace {

LayoutCase case_of(const std::string& layout, std::int64_t gpus) {
  LayoutCase about{.question = {}, .gpus = gpus};
  about.question.platform = "dgx-h200";
  about.question.stack = "ideal";
  about.question.model = "llama-2-7b";
  about.question.sequence = 1024;
  about.question.layout = layout;
  return about;
}

// Every rank, in a process of its own: the first iteration's end.
double simulated_s(const LayoutCase& about, bool has_optimizer, bool has_state = true) {
  const auto simulate = [&] {
    Asker asker;
    const QuestionMachine& machine = asker.machine(slow_machine_question(about));
    LayoutSetUp set_up = set_up_layout(about, asker);
    if (!has_optimizer) {
      set_up.work.norm.bytes = 0;
      for (StageWork& stage : set_up.work.stages) stage.optimizer_s = 0;
    }
    if (!has_state)
      for (StageWork& stage : set_up.work.stages) {
        stage.parameters.clear();
        stage.gradients.clear();
      }
    const Program program = layout_program(about, set_up, 2);
    SessionOptions options;
    options.noise = parse_noise(program.noise, program.stragglers);
    return simulate_program(machine.platform, machine.stack, program, std::move(options))
        .periods_s.front();
  };
  return isolated<double>({simulate}, "simulating").front();
}

struct FullCase {
  const char* layout;
  std::int64_t gpus;
  Framework framework = Framework::kMegatron;
};
class SimulatedLayout : public ::testing::TestWithParam<FullCase> {};

// Blocks of a ring differ by one value, and so do the ranks' times.
constexpr double kOneValue_s = 4 / 1e9;

TEST_P(SimulatedLayout, IsTheFoldedOne) {
  LayoutCase about = case_of(GetParam().layout, GetParam().gpus);
  about.question.framework = GetParam().framework;
  Asker asker;
  const LayoutPrediction folded = predict_layouts({about}, asker).front();
  const double passes_s = folded.passes.end_s;
  const double allowed_s = 1e-9 * passes_s + kOneValue_s;
  EXPECT_NEAR(simulated_s(about, false), passes_s, allowed_s);
  // Ranks of a pipeline ask for the norm one after the other: it has begun when the last one does.
  const double late_s = GetParam().layout[0] == 'p' ? folded.norm_s : 0;
  EXPECT_NEAR(simulated_s(about, true), folded.iteration_s, allowed_s + late_s);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, SimulatedLayout,
    ::testing::Values(
        FullCase{"tp=1", 1}, FullCase{"tp=4,global=2", 4},
        FullCase{"tp=8,sp=false,global=2,recompute=full", 8},
        FullCase{"tp=4,sp=false,zero=3,global=2", 4}, FullCase{"tp=1,global=8", 4},
        FullCase{"zero=1,global=8", 4}, FullCase{"zero=3,global=8", 4},
        FullCase{"zero=3,overlap=false,global=8", 4},
        FullCase{"zero=3,dp_shard=2,overlap=false,global=8", 4},
        FullCase{"zero=1,dp_shard=2,global=8", 4},
        FullCase{"zero=2,dp_shard=4,global=8", 8, Framework::kPyTorchTo210},
        FullCase{"zero=3,global=8,recompute=selective_op", 4, Framework::kPyTorchTo210},
        FullCase{"zero=3,pp=2,global=8,recompute=full", 4},
        FullCase{"zero=1,overlap=false,global=4", 4}, FullCase{"tp=4,tp_overlap=true,global=2", 4},
        FullCase{"pp=4,global=8", 4}, FullCase{"pp=4,global=8,schedule=gpipe", 4},
        FullCase{"pp=2,vpp=2,global=4", 2}, FullCase{"pp=4,global=8,schedule=zb-h1", 4},
        FullCase{"pp=2,global=4,schedule=zbv,vpp=2", 2},
        FullCase{"pp=2,global=6,schedule=dualpipev,vpp=2", 2}, FullCase{"pp=2,tp=2,global=4", 4},
        FullCase{"cp=2,overlap=false,global=2", 2},
        FullCase{"cp=4,cp_comm=a2a,overlap=false,global=2", 4},
        FullCase{"cp=2,cp_comm=all_gather,recompute=selective,overlap=false,global=2", 2}));

// What the folded one does not know: that ranks and their mirrors gather and reduce on the links on
// which activations go, and that a rank's port is shared by messages of both its neighbours. The
// passes of two ranks alone are the same; of more no longer than one message.
class SimulatedDualPipe : public ::testing::TestWithParam<FullCase> {};

TEST_P(SimulatedDualPipe, IsTheFoldedOneButForMessagesThatMeet) {
  const LayoutCase about = case_of(GetParam().layout, GetParam().gpus);
  Asker asker;
  const LayoutPrediction folded = predict_layouts({about}, asker).front();
  std::vector<PipelineCopy> copies = folded.copies;
  for (StageCost& stage : copies.front().stages) stage.parameters = stage.gradients = {};
  const double alone_s =
      pipeline_totals(*folded.schedule, folded.shape, copies).front().passes_end_s;
  const double passes_s = simulated_s(about, false, false);
  const double rounded_s = 1e-9 * alone_s + kOneValue_s;
  EXPECT_GT(passes_s, alone_s - rounded_s);
  EXPECT_LT(passes_s, alone_s + (folded.shape.ranks > 2 ? copies.front().transfer_s : rounded_s));
  const double all_s = simulated_s(about, true);
  EXPECT_GT(all_s, (1 - 1e-9) * folded.iteration_s - kOneValue_s);
  EXPECT_LT(all_s, (1 + 1e-3) * folded.iteration_s);
}

INSTANTIATE_TEST_SUITE_P(Layouts, SimulatedDualPipe,
                         ::testing::Values(FullCase{"pp=2,global=4,schedule=dualpipe", 2},
                                           FullCase{"pp=4,global=8,schedule=dualpipe", 4},
                                           FullCase{"pp=4,global=8,schedule=dualpipev,vpp=2", 4},
                                           FullCase{"pp=4,global=24,schedule=dualpipe", 8},
                                           FullCase{"pp=2,zero=1,global=8,schedule=dualpipe", 4}));

struct HybridCase {
  const char* layout;
  std::int64_t gpus;
  Framework framework = Framework::kMegatron;
  const char* model = "llama-2-7b:num_hidden_layers=4";
  double slower = 1e-3;  // than the folded one: what other exchanges on NVLink cost
  std::int64_t sequence = 4096;
};

LayoutCase case_of(const HybridCase& of) {
  LayoutCase about = case_of(of.layout, of.gpus);
  about.question.stack = "";
  about.question.model = of.model;
  about.question.sequence = of.sequence;
  about.question.framework = of.framework;
  return about;
}

class HybridSharding : public ::testing::TestWithParam<HybridCase> {};

// Shares within nodes move on NVLink, under kernels; all-reduces between replicas beside them on
// adapters, after each layer of the last pass.
TEST_P(HybridSharding, IsTheSimulatedOne) {
  const LayoutCase about = case_of(GetParam());
  Asker asker;
  const double folded_s = predict_layouts({about}, asker).front().iteration_s;
  const double all_s = simulated_s(about, true);
  EXPECT_GT(all_s, (1 - 1e-3) * folded_s);
  EXPECT_LT(all_s, (1 + GetParam().slower) * folded_s);
  EXPECT_FALSE(set_up_layout(about, asker).work.stages.front().replicas_share_links);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, HybridSharding,
    ::testing::Values(HybridCase{"zero=3,dp_shard=8,global=32", 16},
                      HybridCase{"zero=3,dp_shard=8,global=16,recompute=full", 16,
                                 Framework::kPyTorchTo210},
                      HybridCase{"tp=2,zero=3,dp_shard=4,global=16", 16, Framework::kMegatron,
                                 "llama-2-7b:num_hidden_layers=4", 0.03},
                      HybridCase{"cp=2,zero=3,dp_shard=4,global=16,cp_comm=all_gather", 16,
                                 Framework::kMegatron, "llama-2-7b:num_hidden_layers=4", 0.05},
                      // Whose passes wait for what is gathered and scattered.
                      HybridCase{"zero=3,dp_shard=8,global=16", 16, Framework::kMegatron,
                                 "llama-2-7b:num_hidden_layers=8", 1e-3, 512},
                      HybridCase{"pp=2,vpp=2,zero=3,dp_shard=8,global=64", 32},
                      HybridCase{"pp=2,zero=3,dp_shard=8,global=64,schedule=zb-h1", 32},
                      HybridCase{"zero=3,dp_shard=8,global=32", 16, Framework::kMegatron,
                                 "llama-2-7b:num_hidden_layers=1"},
                      HybridCase{"ep=2,etp=1,zero=3,dp_shard=8,global=32", 16, Framework::kPyTorch,
                                 "mixtral-8x7b:num_hidden_layers=2", 0.07}));

// On the same links the folded one takes them one after the other.
class HybridShardingOnSharedLinks : public ::testing::TestWithParam<HybridCase> {};

TEST_P(HybridShardingOnSharedLinks, IsNoFasterThanTheSimulatedOne) {
  LayoutCase about = case_of(GetParam());
  about.question.sequence = 1024;  // collectives take longer than kernels
  Asker asker;
  const double folded_s = predict_layouts({about}, asker).front().iteration_s;
  const double all_s = simulated_s(about, true);
  EXPECT_LT(all_s, (1 + 1e-3) * folded_s);
  EXPECT_GT(all_s, 0.9 * folded_s);
  EXPECT_TRUE(set_up_layout(about, asker).work.stages.front().replicas_share_links);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, HybridShardingOnSharedLinks,
    ::testing::Values(HybridCase{"zero=3,dp_shard=2,global=4", 4},
                      HybridCase{"zero=3,dp_shard=4,global=16", 8},
                      HybridCase{"zero=3,dp_shard=16,global=32", 32},
                      HybridCase{"pp=2,zero=3,dp_shard=4,global=32,schedule=zb-h1", 16},
                      HybridCase{"zero=3,dp_shard=2,global=4", 4, Framework::kMegatron,
                                 "llama-2-7b:num_hidden_layers=1"}));

// Groups on one node share its adapters, two GPUs of p4de one each: the data-parallel groups of a
// tensor group, and what goes from one pipeline stage to the next.
TEST(LayoutOnSharedAdapters, IsTheSimulatedOne) {
  const auto differs = [](const std::string& layout, const std::string& stack) {
    LayoutCase about = case_of(layout, 16);
    about.question.platform = "aws-p4de";
    about.question.stack = stack;
    Asker asker;
    const double folded_s = predict_layouts({about}, asker).front().iteration_s;
    return std::abs(simulated_s(about, true) / folded_s - 1);
  };
  EXPECT_LT(differs("tp=8,global=4,overlap=false", "ideal"), 1e-5);  // the norm
  EXPECT_LT(differs("tp=8,zero=1,global=4,overlap=false", "ideal"), 1e-5);
  // Under passes, beside what NCCL does there.
  EXPECT_LT(differs("tp=8,zero=1,global=4", ""), 1e-3);
  EXPECT_LT(differs("tp=8,pp=2,global=2", ""), 1e-3);
}

// Ranks that are slow, in one copy of the pipeline and in several, and a slow link.
struct SlowCase {
  const char* layout;
  std::int64_t gpus;
  const char* stragglers;
  const char* slow_device;
  const char* share;
};
class SlowLayout : public ::testing::TestWithParam<SlowCase> {};

TEST_P(SlowLayout, IsTheSimulatedOne) {
  LayoutCase about = case_of(GetParam().layout, GetParam().gpus);
  Asker asker;
  const double healthy_s = predict_layouts({about}, asker).front().iteration_s;
  about.question.stragglers = GetParam().stragglers;
  if (*GetParam().slow_device != '\0')
    about.question.links[GetParam().slow_device] = GetParam().share;
  const LayoutPrediction folded = predict_layouts({about}, asker).front();
  EXPECT_GT(folded.iteration_s, 1.001 * healthy_s);
  EXPECT_NEAR(folded.iteration_s - *folded.variation_s, healthy_s, 1e-12 * healthy_s);
  EXPECT_NEAR(simulated_s(about, true), folded.iteration_s,
              1e-9 * folded.iteration_s + kOneValue_s + folded.norm_s);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, SlowLayout,
    ::testing::Values(SlowCase{"tp=1,global=2", 1, "0:1.5", "", ""},
                      SlowCase{"tp=4,global=2", 4, "2:1.5", "", ""},
                      SlowCase{"tp=4,tp_overlap=true,global=2", 4, "3:1.5", "", ""},
                      SlowCase{"tp=2,overlap=false,global=8", 8, "5:1.5", "", ""},
                      SlowCase{"zero=1,global=8", 4, "3:1.3", "", ""},
                      SlowCase{"zero=3,global=8", 4, "1:1.3", "", ""},
                      SlowCase{"pp=4,global=8", 4, "2:1.5", "", ""},
                      SlowCase{"pp=2,tp=2,overlap=false,global=16", 8, "1:1.3,6:1.5", "", ""},
                      SlowCase{"pp=4,global=16,zero=1", 8, "3:1.3,4:1.5", "", ""},
                      SlowCase{"pp=2,vpp=2,global=4", 2, "1:1.5", "", ""},
                      SlowCase{"pp=4,global=8,schedule=zb-h1", 4, "1:1.5", "", ""},
                      SlowCase{"cp=2,overlap=false,global=4", 4, "3:1.5", "", ""},
                      SlowCase{"tp=8,overlap=false,global=2", 16, "", "node1/nic2", "0.1"}));

// Over a slow link a pipeline's message may still be under way when the next one leaves; the
// simulator lets them share it, the folded one does not.
TEST(SlowPipeline, IsNeverFasterThanTheFoldedOne) {
  for (const auto& [layout, gpus, node] :
       {std::tuple{"tp=4,pp=2,overlap=false,global=16", 32, "node2"},
        std::tuple{"tp=8,pp=2,global=4", 16, "node0"}}) {
    LayoutCase about = case_of(layout, gpus);
    about.question.stragglers = "3:1.2";
    about.question.links[node] = "0.5";
    Asker asker;
    const double folded_s = predict_layouts({about}, asker).front().iteration_s;
    const double all_s = simulated_s(about, true);
    EXPECT_GT(all_s, (1 - 1e-9) * folded_s) << layout;
    EXPECT_LT(all_s, 1.005 * folded_s) << layout;
  }
}

}  // namespace
}  // namespace forescale
