// Schedules for two engines: what the MPI program is told, what is refused, and what is made of the
// answers. No MPI here.
#include "studies/execute/executed_schedules.hpp"
#include "base/scratch_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/steady_state.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kHosts = 4;

// Four hosts on a switch at 25 MB/s whose kernels take a K80's times, and a stack for them.
class ExecutedSchedules : public ::testing::Test {
 protected:
  ExecutedSchedules() {
    json links = json::array();
    for (int host = 0; host < kHosts; ++host)
      links.push_back({{"from", "host" + std::to_string(host)},
                       {"to", "switch0"},
                       {"class", {{"bandwidth_bytes_per_s", 25e6}, {"latency_s", 0}}}});
    write("platform.json",
          {{"format", "forescale-platform-1"},
           {"name", "four"},
           {"description", "four hosts"},
           {"source", "test"},
           {"node", {{"count", kHosts}, {"layout", "host"}, {"emulated_gpu", "k80"}}},
           {"fabric", {{"layout", "explicit"}, {"switches", {"switch0"}}, {"links", links}}}});
    const auto only = [](const char* algorithm) {
      return json::array({{{"algorithm", algorithm}}});
    };
    const json path = {{"where", "any"},
                       {"buffers", "host"},
                       {"mechanism", "direct"},
                       {"o_send_s", 50e-6},
                       {"latency_s", 50e-6}};
    const json adding = {{"place", "fixed"},
                         {"overlaps_transfer", true},
                         {"overhead_s", 0},
                         {"rate_bytes_per_s", 2e9}};
    write(
        "stack.json",
        {{"format", "forescale-stack-1"},
         {"name", "mpi"},
         {"description", "MPI on four hosts"},
         {"source", "test"},
         {"channels", 2},
         {"eager_limit_bytes", 65536},
         {"latency_holds_ports", false},
         {"shared_cores", 0},
         {"progress", "inside-calls"},
         {"reduction", adding},
         {"host_reduction", adding},
         {"paths", json::array({path})},
         {"selection",
          {{"all-reduce", json::array({{{"up_to_bytes", 1024}, {"algorithm", "recursive-doubling"}},
                                       {{"algorithm", "ring"}}})},
           {"reduce", only("binomial")},
           {"broadcast", only("binomial")}}}});
  }
  void write(const std::string& name, const json& content) {
    std::ofstream(folder_.file(name)) << content.dump();
  }

  ScheduleExperimentSettings settings() const {
    return {.question = {.platform = folder_.file("platform.json"),
                         .stack = folder_.file("stack.json"),
                         .model = "cifar10-quick",
                         .batch = 256},
            .draws = Draws::kNominal,
            .workers = kHosts,
            .schedules = {"phases"}};
  }

  static std::string refusal(const ScheduleExperimentSettings& asked,
                             const std::string& schedule = "phases", int hosts = kHosts) {
    try {
      make_experiment(asked, schedule, hosts);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }

 private:
  const ScratchFolder folder_{"schedules"};
};

// cifar10-quick has 145,578 values: 582,312 bytes.
TEST_F(ExecutedSchedules, EveryRankIsToldTheWholeNetwork) {
  const json request = mpi_request(make_experiment(settings(), "phases", kHosts), 20e-6);
  EXPECT_EQ(request.at("format"), "forescale-mpi-request-1");
  EXPECT_EQ(request.at("task"), "schedule");
  EXPECT_EQ(request.at("schedule"), "phases");
  EXPECT_EQ(request.at("wait").at("nap_s"), 20e-6);
  EXPECT_EQ(request.at("channels"), 2);
  EXPECT_EQ(request.at("workers"), kHosts);
  EXPECT_EQ(request.at("progress"), "inside-calls");
  EXPECT_EQ(request.at("nodes"), json({0, 1, 2, 3}));
  ASSERT_EQ(request.at("jobs").size(), 4U);
  for (const json& job : request.at("jobs")) {
    std::int64_t bytes = 0;
    std::int64_t tensors = 0;
    for (const json& stage : job.at("stages")) {
      bytes += stage.at("parameter_bytes").get<std::int64_t>();
      for (const json& tensor : stage.at("tensor_bytes")) tensors += tensor.get<std::int64_t>();
    }
    EXPECT_EQ(bytes, 582312);
    EXPECT_EQ(tensors, 582312);
    EXPECT_EQ(job.at("batch"), 64);
    EXPECT_EQ(job.at("iterations"), kIterationsMin);
  }
}

TEST_F(ExecutedSchedules, AlgorithmsAreTheStacksUnlessOneIsNamed) {
  ScheduleExperimentSettings asked = settings();
  asked.question.plans = {{"reduce", "reduce/cb:chain_size=2,chunk_bytes=64KiB"}};
  const ScheduleExperiment experiment = make_experiment(asked, "phases", kHosts);
  const json choices = mpi_request(experiment, 0).at("choices");
  EXPECT_EQ(choices.at("broadcast").at(0).at("algorithm"), "binomial");
  ASSERT_EQ(choices.at("reduce").size(), 1U);
  EXPECT_EQ(choices.at("reduce").at(0).at("algorithm"), "cb");
  EXPECT_EQ(choices.at("reduce").at(0).at("chain_size"), 2);
  EXPECT_EQ(choices.at("reduce").at(0).at("chunk_bytes"), 65536);
  EXPECT_EQ(choices.at("all-reduce").at(0).at("up_to_bytes"), 1024);
  // Negotiation keeps to the stack, as in the simulator.
  EXPECT_EQ(experiment.request.control_choices.at("reduce").front().algorithm, "binomial");
  // The simulator is told the same.
  EXPECT_EQ(experiment.inputs.choices.at(CollectiveOp::kReduce).collective->algorithm, "cb");
}

TEST_F(ExecutedSchedules, ProgressAndStragglersReachTheWorkers) {
  ScheduleExperimentSettings asked = settings();
  const ScheduleExperiment even = make_experiment(asked, "sc-obr", kHosts);
  asked.question.progress = "thread";
  asked.question.stragglers = "2:1.5";
  const ScheduleExperiment odd = make_experiment(asked, "sc-obr", kHosts);
  EXPECT_EQ(mpi_request(odd, 0).at("progress"), "thread");
  EXPECT_EQ(odd.inputs.stack.progress, Progress::kHardware);
  for (size_t rank = 0; rank < 4; ++rank) {
    const double factor = rank == 2 ? 1.5 : 1;
    const TrainingStage& stage = odd.request.jobs[rank].stages.front();
    const TrainingStage& before = even.request.jobs[rank].stages.front();
    EXPECT_DOUBLE_EQ(stage.forward_s, factor * before.forward_s);
    EXPECT_DOUBLE_EQ(stage.backward_s, factor * before.backward_s);
    EXPECT_DOUBLE_EQ(stage.update_s, factor * before.update_s);
    // The simulator slows kernels down itself.
    EXPECT_EQ(odd.run.jobs[rank]->stages.front().forward_s, before.forward_s);
  }
}

TEST_F(ExecutedSchedules, BytesScaleLeavesComputeAlone) {
  const ScheduleExperiment whole = make_experiment(settings(), "phases", kHosts);
  ScheduleExperimentSettings asked = settings();
  asked.question.bytes_scale = 0.01;
  const ScheduleExperiment small = make_experiment(asked, "phases", kHosts);
  std::int64_t bytes = 0;
  for (size_t i = 0; i < whole.request.jobs.front().stages.size(); ++i) {
    const TrainingStage& stage = small.request.jobs.front().stages[i];
    const TrainingStage& before = whole.request.jobs.front().stages[i];
    EXPECT_EQ(stage.forward_s, before.forward_s);
    EXPECT_EQ(stage.backward_s, before.backward_s);
    std::int64_t tensors = 0;
    for (const std::int64_t tensor : stage.tensor_bytes) {
      EXPECT_GE(tensor, 4);
      EXPECT_EQ(tensor % 4, 0);
      tensors += tensor;
    }
    EXPECT_EQ(tensors, stage.parameter_bytes);
    bytes += stage.parameter_bytes;
  }
  EXPECT_NEAR(static_cast<double>(bytes), 5823, 40);  // ten tensors, each rounded
  EXPECT_EQ(small.run.jobs.front()->parameter_bytes(), bytes);
}

TEST_F(ExecutedSchedules, WhatCannotRunIsRefused) {
  ScheduleExperimentSettings asked = settings();
  asked.question.data = "lmdb";
  EXPECT_THAT(refusal(asked), HasSubstr("--data = lmdb: cannot be executed"));
  asked = settings();
  asked.question.noise = "sigma=0.05";
  EXPECT_THAT(refusal(asked), HasSubstr("--noise"));
  asked = settings();
  asked.question.stragglers = "4:2";
  EXPECT_THAT(refusal(asked), HasSubstr("must be a rank below 4"));
  asked = settings();
  asked.question.platform = "kesch";
  EXPECT_THAT(refusal(asked), HasSubstr("has real GPUs"));
  asked = settings();
  asked.question.batch = 3;
  EXPECT_THAT(refusal(asked), HasSubstr("must be >= 4: an image for every GPU"));
  asked = settings();
  asked.question.model = "vgg-16";
  asked.question.batch = 4096;
  EXPECT_THAT(refusal(asked), HasSubstr("--batch = 4096: needs"));
  asked = settings();
  asked.workers = 5;
  EXPECT_THAT(refusal(asked), HasSubstr("--gpus"));
  for (const double scale : {0.0, -1.0, 2.0}) {
    asked = settings();
    asked.question.bytes_scale = scale;
    EXPECT_THAT(refusal(asked), HasSubstr("--bytes-scale"));
  }
  asked = settings();
  asked.schedules = {"sc-obb"};
  EXPECT_THROW(schedules_of(asked), InputError);
}

// A server for two workers on their own hosts: MPI's third rank goes to the third host.
TEST_F(ExecutedSchedules, ServersElsewhereThanMpiWouldPutThemAreRefused) {
  ScheduleExperimentSettings asked = settings();
  asked.workers = 2;
  const std::string shared = "parameter-server:servers=1,own_hosts=false";
  const std::string own = "parameter-server:servers=1,own_hosts=true";
  ASSERT_EQ(refusal(asked, shared, 0), "accepted");
  EXPECT_THAT(refusal(asked, shared, kHosts),
              HasSubstr("puts rank 2 on node 0 of the platform, but MPI on host 2 of 4"));
  EXPECT_EQ(refusal(asked, own, kHosts), "accepted");
  EXPECT_EQ(mpi_request(make_experiment(asked, own, kHosts), 0).at("jobs").size(), 3U);
}

// Four workers whose i-th iteration ends at (i + 1) * period_s; rank 0 computes for 60 % of it.
json answer_of(const std::vector<double>& ends_s) {
  json iterations = json::array();
  double before_s = 0;
  for (const double end_s : ends_s) {
    const double period_s = end_s - before_s;
    json ranks = json::array();
    for (int rank = 0; rank < kHosts; ++rank)
      ranks.push_back({{"end_s", end_s - 1e-3 * rank},
                       {"period_s", period_s},
                       {"phases_s",
                        {{"forward", 0.2 * period_s},
                         {"backward", 0.4 * period_s},
                         {"propagation", 0.1 * period_s},
                         {"aggregation", 0.25 * period_s},
                         {"idle", 0.05 * period_s}}}});
    iterations.push_back({{"time_s", period_s}, {"ranks", ranks}});
    before_s = end_s;
  }
  return {{"format", "forescale-executed-1"},
          {"library", "Open MPI 4.1.4"},
          {"payload_bytes", 6000},
          {"iterations", iterations}};
}

// Of six iterations the last four count: (6.2 - 2.2) / 4 = 1 s.
TEST_F(ExecutedSchedules, MeasuredIterationsSettleAsSimulatedOnesDo) {
  const ScheduleExperiment experiment = make_experiment(settings(), "phases", kHosts);
  const json answer = answer_of({1.2, 2.2, 3.19, 4.2, 5.21, 6.2});
  const IterationTimes times = iteration_times(answer, "answer", experiment);
  EXPECT_NEAR(times.iteration_s, 1, 1e-12);
  EXPECT_NEAR(times.compute_s, 0.6, 1e-12);
  EXPECT_NEAR(times.exposed_s, 0.35, 1e-12);
  EXPECT_EQ(times.waiting_s, 0);
  EXPECT_NEAR(times.idle_s, 0.05, 1e-12);
  EXPECT_NEAR(times.payload_bytes, 1000, 1e-9);
  EXPECT_TRUE(times.is_steady);
  const auto failure = [&](const json& wrong) -> std::string {
    try {
      iteration_times(wrong, "answer", experiment);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(failure(answer_of({1, 2, 3})), HasSubstr("iterations"));
  json wrong = answer;
  wrong["iterations"][2]["ranks"].erase(0);
  EXPECT_THAT(failure(wrong), HasSubstr("/iterations/2/ranks"));
  wrong = answer;
  wrong["iterations"][2]["ranks"][1]["end_s"] = -1;
  EXPECT_THAT(failure(wrong), HasSubstr("/iterations/2/ranks/1/end_s"));
}

TEST(SteadyState, TakesTheLastOfEqualPeriodsElseAMean) {
  const SteadyState same = steady_state({{3, 5, 7}, {2, 4, 6}}, {1, 1}, false);
  EXPECT_EQ(same.period_s, 2);
  EXPECT_EQ(same.begin, 2U);
  EXPECT_THAT(same.periods_s, ElementsAre(3, 2, 2));
  // Periods 3, 2, 4, 3: those from the second on, whose halves are apart.
  const SteadyState varied = steady_state({{3, 5, 9, 12}}, {1}, false);
  EXPECT_EQ(varied.begin, 2U);
  EXPECT_EQ(varied.period_s, 3.5);
  EXPECT_FALSE(varied.is_steady);
  // Two periods that count are no halves: 0.5 % apart they may be on their way anywhere.
  EXPECT_FALSE(steady_state({{3, 5, 7.01}}, {1}, false).is_steady);
  EXPECT_TRUE(steady_state({{3, 5, 7.001}}, {1}, false).is_steady);
  EXPECT_TRUE(steady_state({{3, 5, 7, 9.01, 11, 13.01}}, {1}, false).is_steady);
  // Two ranks that train 1 image in 1 s and 1 in 3 s: 4 / 3 images/s, 2 images in 1.5 s.
  const SteadyState apart = steady_state({{1, 2, 3, 4, 5, 6}, {3, 6, 9, 12, 15, 18}}, {1, 1}, true);
  EXPECT_NEAR(apart.period_s, 1.5, 1e-12);
}

ScheduleRow schedule_row(const std::string& schedule, double predicted_s, double measured_s) {
  ScheduleRow row;
  row.schedule = schedule;
  row.predicted.iteration_s = predicted_s;
  row.measured.iteration_s = measured_s;
  return row;
}

TEST(ScheduleOrder, CountsOnlyWhatMeasurementsTellApart) {
  // a and b are 4 % apart: not told apart.
  std::vector<ScheduleRow> rows = {schedule_row("a", 1.1, 1.00), schedule_row("b", 1.0, 1.04),
                                   schedule_row("c", 1.2, 1.20)};
  OrderCheck check = check_order(rows);
  EXPECT_EQ(check.pairs, 2);
  EXPECT_TRUE(check.wrong.empty());
  rows.push_back(schedule_row("d", 0.9, 1.5));
  check = check_order(rows);
  EXPECT_EQ(check.pairs, 5);
  ASSERT_EQ(check.wrong.size(), 3U);
  EXPECT_EQ(check.wrong[0], "d is 50.0 % slower than a, but predicted 22.2 % faster");
  rows.back().failure = "rank 3 died";
  EXPECT_EQ(check_order(rows).pairs, 2);
}

TEST(ScheduleRows, ErrorsAreRelativeToTheMeasurement) {
  ScheduleRow row = schedule_row("a", 1.1, 1.0);
  row.predicted.exposed_s = 0.3;
  row.measured.exposed_s = 0.4;
  EXPECT_NEAR(row.iteration_error(), 0.1, 1e-12);
  EXPECT_NEAR(row.exposed_error(), -0.25, 1e-12);
  EXPECT_NEAR(row.communication_share(), 0.4, 1e-12);
  // What the simulator tells apart is compared with what a real rank cannot.
  row.predicted.exposed_s = 0.1;
  row.predicted.waiting_s = 0.2;
  EXPECT_NEAR(row.exposed_error(), -0.25, 1e-12);
  row.predicted.exposed_s = row.predicted.waiting_s = row.measured.exposed_s = 0;
  EXPECT_EQ(row.exposed_error(), 0);
}

// The engine is told what was predicted, and a schedule that fails does not stop the others.
TEST_F(ExecutedSchedules, OneFailureLeavesTheOthers) {
  ScheduleExperimentSettings asked = settings();
  asked.schedules = {"phases", "sc-ob"};
  std::vector<std::string> steps;
  const ScheduleComparison comparison =
      compare_schedules(asked,
                        {.hosts = kHosts,
                         .nap_s = 0,
                         .run =
                             [](const json& request, int ranks) {
                               EXPECT_EQ(ranks, kHosts);
                               if (request.at("schedule") == "sc-ob")
                                 throw SimulationStuck("rank 3 died");
                               return answer_of({1, 2, 3, 4, 5, 6});
                             }},
                        [&](const std::string& step) { steps.push_back(step); });
  ASSERT_EQ(comparison.rows.size(), 2U);
  EXPECT_EQ(comparison.rows[0].failure, "");
  EXPECT_EQ(comparison.rows[1].failure, "rank 3 died");
  EXPECT_GT(comparison.rows[0].predicted.iteration_s, 0);
  EXPECT_EQ(comparison.library, "Open MPI 4.1.4");
  EXPECT_EQ(steps.size(), 3U);
  const json report = to_json(comparison);
  EXPECT_EQ(report.at("schedules").at(1).at("failure"), "rank 3 died");
  EXPECT_NEAR(report.at("schedules").at(0).at("communication_share"), 0.35, 1e-12);
}

}  // namespace
}  // namespace forescale
