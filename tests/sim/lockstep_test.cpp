// One worker of each kind in place of all against all of them, for every schedule that says that
// its workers make the same calls; and what cannot be simulated so.
#include "sim/lockstep.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/json_text.hpp"
#include "base/output_file.hpp"
#include "base/scratch_folder.hpp"
#include "sim/ask/load_question.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

PredictionInputs inputs_of(Question question) {
  if (question.system.empty() && question.schedule.empty()) question.system = "ddp-nccl";
  return load_inputs(question, Scenario::kNominal);
}

// The iteration, and of it the kernels of a rank, and how long it waits for others to call.
std::vector<double> times_of(const TrainingOutcome& outcome, int rank) {
  const Attribution& of_rank = outcome.attributions[static_cast<std::size_t>(rank)];
  const PhaseTimes phases = by_name(of_rank.phase_s, of_rank.idle_s);
  return {outcome.iteration_s, time_of(phases, TimeKind::kCompute),
          time_of(phases, TimeKind::kWaiting)};
}

std::vector<double> whole(const PredictionInputs& inputs, const TrainingRun& run, int rank) {
  return numbers_in_child([&] {
    SessionOptions options;
    options.workers = run.workers;
    options.noise = inputs.noise;
    return times_of(
        simulate_training(run.platform, inputs.stack, *inputs.schedule, run.jobs, options), rank);
  });
}

// How far the iteration is off, how far it says that it may be, and what it takes.
struct Off {
  double is = 0;
  double says = 0;
  int workers = 0;
  double iteration_s = 0;
};

// And the kernels of `rank` are those that they are among all, and it waits as long.
Off off(const Question& question, int gpus, int rank = 0) {
  const PredictionInputs inputs = inputs_of(question);
  const TrainingRun run = training_run(inputs, gpus);
  EXPECT_EQ(why_not_lockstep(inputs, run), "");
  const std::vector<double> found = numbers_in_child([&] {
    const Lockstep alike = simulate_lockstep(inputs, run, false).value();
    std::vector<double> times = times_of(alike.outcome, rank);
    times.push_back(alike.error);
    times.push_back(alike.workers);
    return times;
  });
  const std::vector<double> all = whole(inputs, run, rank);
  // A straggler changes beside which kernels collectives take memory.
  EXPECT_NEAR(found[1], all[1], (question.stragglers.empty() ? 1e-6 : 1e-3) * all[1]);
  EXPECT_NEAR(found[2], all[2], found[3] * all[0]);
  return {.is = std::abs(found[0] / all[0] - 1),
          .says = found[3],
          .workers = static_cast<int>(found[4]),
          .iteration_s = found[0]};
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
      EXPECT_EQ(found.workers, 1);
    }
  }
  EXPECT_GE(tested, 2);
}

// Every schedule of the catalogue on fabrics and nodes of every kind: as long as all workers to
// what it says, or it says why not.
struct LockstepPlace {
  const char* name;
  const char* platform;
  std::string fabric;  // of 32 nodes of Piz Daint; empty: the platform's own
  const char* stack;
  std::vector<int> gpus;
  std::set<std::string> folds;
};
class LockstepPlaces : public ::testing::TestWithParam<LockstepPlace> {};

TEST_P(LockstepPlaces, AreAsLongAsAllWorkersOrSayWhyNot) {
  const LockstepPlace& place = GetParam();
  const ScratchFolder folder("forescale-lockstep");
  std::string platform = place.platform;
  if (platform.empty()) {
    platform = folder.path() + "/place.json";
    write_file(platform,
               fmt::format(R"({{"format": "forescale-platform-1", "name": "place",
        "assumptions": ["a test"],
        "node": {{"count": 32, "layout": "preset", "preset": "piz-daint"}}, "fabric": {}}})",
                           place.fabric),
               "test");
  }
  std::set<std::string> folds;
  for (const auto& [name, schedule] : Registry<Schedule>::all())
    for (const int gpus : place.gpus) {
      const PredictionInputs inputs = inputs_of({.platform = platform,
                                                 .stack = place.stack,
                                                 .model = "alexnet",
                                                 .schedule = name,
                                                 .batch = 32,
                                                 .scaling = Scaling::kWeak,
                                                 .iterations = 2});
      const TrainingRun run = training_run(inputs, gpus);
      if (!why_not_lockstep(inputs, run).empty()) continue;
      folds.insert(name);
      const std::vector<double> found = numbers_in_child([&]() -> std::vector<double> {
        const auto alike = simulate_lockstep(inputs, run, true);
        if (!alike) return {};  // few say too little
        return {alike->outcome.iteration_s, alike->error};
      });
      if (found.empty()) continue;
      EXPECT_NEAR(found[0] / whole(inputs, run, 0)[0], 1, found[1]) << name << " " << gpus;
    }
  EXPECT_EQ(folds, place.folds);
}

// Four leaves of eight hosts and so many uplinks.
std::string fat_tree(int uplinks) {
  return fmt::format(R"({{"layout": "fat-tree", "down": [8, 4], "up": [{}],
                          "routing": "adaptive", "link": "ndr", "up_link": "ndr"}})",
                     uplinks);
}

const std::set<std::string> kAlikeWorkers = {"ddp", "layer-all-reduce"};

INSTANTIATE_TEST_SUITE_P(
    Where, LockstepPlaces,
    ::testing::Values(
        LockstepPlace{"star",
                      "",
                      R"({"layout": "star", "link": "ndr"})",
                      "nccl-2.3",
                      {16, 32},
                      kAlikeWorkers},
        LockstepPlace{"fat_tree", "", fat_tree(8), "nccl-2.3", {16, 32}, kAlikeWorkers},
        LockstepPlace{"narrow_fat_tree", "", fat_tree(4), "nccl-2.3", {16, 32}, kAlikeWorkers},
        LockstepPlace{"torus",
                      "",
                      R"({"layout": "torus", "dims": [4, 4, 2], "link": "ndr"})",
                      "nccl-2.3",
                      {16, 32},
                      kAlikeWorkers},
        LockstepPlace{"dragonfly",
                      "",
                      R"({"layout": "dragonfly", "groups": 4, "routers": 4, "hosts": 2,
                          "globals": 1, "link": "ndr", "local_link": "ndr", "global_link": "ndr"})",
                      "nccl-2.3",
                      {16, 32},
                      kAlikeWorkers},
        LockstepPlace{"kesch", "kesch", "", "nccl-2.3", {192}, {}},
        LockstepPlace{"kesch_by_its_mpi", "kesch", "", "mvapich2-gdr", {192}, {}},
        LockstepPlace{"v100", "dgx-1-v100", "", "nccl-2.23-v100", {128}, kAlikeWorkers},
        LockstepPlace{"h100", "dgx-h100", "", "nccl-2.23-h100", {96, 128}, kAlikeWorkers}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(Lockstep, WorkersSplitWhereTheyTakeDifferentTimes) {
  const Question question{.platform = "dgx-h100", .model = "googlenet", .batch = 2048};
  const Off alike = off(question, 128);
  const auto of = [&](const std::string& stragglers, int rank) {
    Question asked = question;
    asked.stragglers = stragglers;
    const Off found = off(asked, 128, rank);
    EXPECT_LE(found.is, found.says) << stragglers;
    EXPECT_LT(found.says, 0.05) << stragglers;
    return found;
  };
  const Off slow = of("100:1.5", 100);
  EXPECT_EQ(slow.workers, 2);
  EXPECT_GT(slow.iteration_s, 1.3 * alike.iteration_s);
  const Off first = of("0:1.5", 0);
  EXPECT_NEAR(first.iteration_s, slow.iteration_s, 0.01 * slow.iteration_s);
  const Off several = of("3:1.2,40:1.5,41:1.5,127:1.1", 127);
  EXPECT_EQ(several.workers, 4);
  EXPECT_NEAR(several.iteration_s, slow.iteration_s, 0.01 * slow.iteration_s);
  const Off fast = of("77:0.5", 77);
  EXPECT_NEAR(fast.iteration_s, alike.iteration_s, 0.01 * alike.iteration_s);
}

// Until the last worker calls, the others' part of a collective goes ahead: 3 % of AlexNet's
// iteration, of which a few nodes show little.
TEST(Lockstep, SaysWhatAStragglerMayBeOff) {
  const Off found = off({.platform = "dgx-h100:nodes=19",
                         .model = "alexnet",
                         .batch = 32,
                         .scaling = Scaling::kWeak,
                         .stragglers = "3:1.5",
                         .iterations = 2},
                        152);
  EXPECT_GT(found.is, 0.02);
  EXPECT_LE(found.is, found.says);
}

TEST(Lockstep, WorkersSplitWhereSomeHaveAnImageMore) {
  const Off found =
      off({.platform = "dgx-h100", .model = "googlenet", .batch = 16 * 128 + 5}, 128, 127);
  EXPECT_LE(found.is, found.says);
  EXPECT_EQ(found.workers, 2);
}

TEST(Lockstep, KernelsThatVaryAreThoseOfAll) {
  const Off found = off(
      {.platform = "dgx-h100", .model = "googlenet", .batch = 2048, .noise = "sigma=0.3,seed=3"},
      128, 5);
  EXPECT_LE(found.is, found.says);
  EXPECT_LT(found.says, 0.05);
  EXPECT_EQ(found.workers, 128);
}

TEST(Lockstep, RefusesWhereWorkersDiffer) {
  const Question question{.platform = "dgx-h100", .model = "alexnet", .batch = 512};
  const auto why_not = [](Question asked, int gpus = 128) {
    const PredictionInputs inputs = inputs_of(std::move(asked));
    return why_not_lockstep(inputs, training_run(inputs, gpus));
  };
  EXPECT_EQ(why_not(question), "");
  Question changed = question;
  EXPECT_EQ(why_not(question, 64), "there are few nodes");
  changed.message_noise = "sigma=0.1";
  EXPECT_EQ(why_not(changed), "messages vary");
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
  EXPECT_NEAR(in_child([&] { return simulate_lockstep(inputs, run, false)->outcome.bytes_sent; }),
              whole, 1e-9 * whole);
}

}  // namespace
}  // namespace forescale::testing
