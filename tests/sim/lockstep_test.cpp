// One worker in place of all against all of them, for every schedule that says that its workers are
// alike; and what cannot be simulated so.
#include "sim/lockstep.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "base/json_text.hpp"
#include "sim/ask/load_question.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

PredictionInputs inputs_of(Question question) {
  if (question.system.empty() && question.schedule.empty()) question.system = "ddp-nccl";
  return load_inputs(question, Scenario::kNominal);
}

double whole_s(const PredictionInputs& inputs, const TrainingRun& run) {
  return in_child([&] {
    SessionOptions options;
    options.workers = run.workers;
    return simulate_training(run.platform, inputs.stack, *inputs.schedule, run.jobs, options)
        .iteration_s;
  });
}

// How far the iteration is off, and how far it says that it may be.
struct Off {
  double is = 0;
  double says = 0;
};

Off off(const Question& question, int gpus) {
  const PredictionInputs inputs = inputs_of(question);
  const TrainingRun run = training_run(inputs, gpus);
  EXPECT_EQ(why_not_lockstep(inputs, run), "");
  const std::vector<double> found = numbers_in_child([&]() -> std::vector<double> {
    const Lockstep alike = simulate_lockstep(inputs, run);
    return {alike.outcome.iteration_s, alike.error};
  });
  return {.is = std::abs(found[0] / whole_s(inputs, run) - 1), .says = found[1]};
}

TEST(Lockstep, IsAsLongAsAllWorkersForEverySchedule) {
  int tested = 0;
  for (const auto& [name, schedule] : Registry<Schedule>::all()) {
    if (!schedule.workers_are_alike) continue;
    ++tested;
    // AlexNet is nearly all communication: much of what it waits for goes on at once.
    for (const auto& [model, batch, most] :
         {std::tuple("googlenet", 2048, 0.2), std::tuple("alexnet", 512, 0.3)}) {
      const Off found = off({.platform = "dgx-h100",
                             .stack = "nccl",
                             .model = model,
                             .schedule = name,
                             .batch = batch},
                            128);
      EXPECT_LE(found.is, found.says) << name << " " << model;
      EXPECT_LT(found.says, most) << name << " " << model;
    }
  }
  EXPECT_GE(tested, 2);
}

TEST(Lockstep, RefusesWhereWorkersDiffer) {
  const Question question{.platform = "dgx-h100", .model = "alexnet", .batch = 512};
  const auto why_not = [](Question asked, int gpus = 128) {
    const PredictionInputs inputs = inputs_of(std::move(asked));
    return why_not_lockstep(inputs, training_run(inputs, gpus));
  };
  EXPECT_EQ(why_not(question), "");
  Question changed = question;
  changed.batch = 513;
  EXPECT_EQ(why_not(changed), "some GPUs have an image more");
  EXPECT_EQ(why_not(question, 64), "there are few nodes");
  changed = question;
  changed.noise = "sigma=0.1";
  EXPECT_EQ(why_not(changed), "kernels vary");
  changed = question;
  changed.system = "horovod-nccl2";
  EXPECT_EQ(why_not(changed), "the workers of horovod do not all do the same");
  changed = question;
  changed.data = "lmdb";
  EXPECT_EQ(why_not(changed), "training data is read");
}

TEST(Lockstep, CountsWhatAllWorkersSend) {
  const PredictionInputs inputs =
      inputs_of({.platform = "dgx-h100", .model = "alexnet", .batch = 512});
  const TrainingRun run = training_run(inputs, 128);
  const auto whole = in_child([&] {
    SessionOptions options;
    options.workers = run.workers;
    return simulate_training(run.platform, inputs.stack, *inputs.schedule, run.jobs, options)
        .bytes_sent;
  });
  EXPECT_NEAR(in_child([&] { return simulate_lockstep(inputs, run).outcome.bytes_sent; }), whole,
              1e-9 * whole);
}

}  // namespace
}  // namespace forescale::testing
