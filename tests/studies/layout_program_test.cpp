// A layout simulated rank by rank against its folded prediction: the same where groups share
// nothing, and never less.
#include "studies/layout/layout_program.hpp"

#include <gtest/gtest.h>

#include <sstream>

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
double simulated_s(const LayoutCase& about, bool has_optimizer) {
  const auto simulate = [&] {
    Asker asker;
    const QuestionMachine& machine = asker.machine(machine_question(about));
    LayoutSetUp set_up = set_up_layout(about, asker);
    if (!has_optimizer) {
      set_up.work.norm.bytes = 0;
      for (StageWork& stage : set_up.work.stages) stage.optimizer_s = 0;
    }
    const Program program = layout_program(about, set_up, 2);
    return simulate_program(machine.platform, machine.stack, program, {}).periods_s.front();
  };
  return isolated<double>({simulate}, "simulating").front();
}

struct FullCase {
  const char* layout;
  std::int64_t gpus;
};
class SimulatedLayout : public ::testing::TestWithParam<FullCase> {};

// Blocks of a ring differ by one value, and so do the ranks' times.
constexpr double kOneValue_s = 4 / 1e9;

TEST_P(SimulatedLayout, IsTheFoldedOne) {
  const LayoutCase about = case_of(GetParam().layout, GetParam().gpus);
  Asker asker;
  const LayoutPrediction folded = predict_layouts({about}, asker).front();
  const double passes_s = folded.times.end_s();
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
        FullCase{"tp=8,sp=false,global=2,recompute=full", 8}, FullCase{"tp=1,global=8", 4},
        FullCase{"zero=1,global=8", 4}, FullCase{"zero=3,global=8", 4},
        FullCase{"zero=1,overlap=false,global=4", 4}, FullCase{"tp=4,tp_overlap=true,global=2", 4},
        FullCase{"pp=4,global=8", 4}, FullCase{"pp=4,global=8,schedule=gpipe", 4},
        FullCase{"pp=2,vpp=2,global=4", 2}, FullCase{"pp=4,global=8,schedule=zb-h1", 4},
        FullCase{"pp=2,global=4,schedule=zbv,vpp=2", 2}, FullCase{"pp=2,tp=2,global=4", 4},
        FullCase{"cp=2,overlap=false,global=2", 2},
        FullCase{"cp=4,cp_comm=a2a,overlap=false,global=2", 4},
        FullCase{"cp=2,cp_comm=all_gather,recompute=selective,overlap=false,global=2", 2}));

}  // namespace
}  // namespace forescale
