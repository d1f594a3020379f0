// Every training schedule of the registry on real MPI over loopback: it finishes, moves the bytes
// of its definition, and no iteration is shorter than its compute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "algorithms/collective.hpp"
#include "base/json_text.hpp"
#include "base/registry.hpp"
#include "calibrate/measure/mpi_launch.hpp"
#include "calibrate/measure/schedule_request.hpp"
#include "tests/algorithms/toy_schedules.hpp"
#include "tests/calibrate/mpi_here.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr int kWorkers = 4;
constexpr int kNodes = 2;
constexpr int kIterations = 3;
constexpr double kForward_s = 1e-3;
constexpr double kBackward_s = 2e-3;

// Small and large, with and without parameters; the last one fully connected.
TrainingJob small_job(const Schedule& schedule) {
  TrainingJob job;
  for (const std::int64_t bytes : {4096 + 16, 65536 + 64, 0, 256 * 256 * 4 + 256 * 4}) {
    TrainingStage stage{.name = "stage " + std::to_string(job.stages.size()),
                        .forward_s = kForward_s,
                        .backward_s = kBackward_s,
                        .update_s = 1e-4,
                        .parameter_bytes = bytes};
    if (bytes > 0) stage.tensor_bytes = {bytes / 1024 * 1024, bytes % 1024};
    job.stages.push_back(stage);
  }
  TrainingStage& connected = job.stages.back();
  connected.tensor_bytes = {256 * 256 * 4, 256 * 4};
  connected.matrix_rows = connected.matrix_columns = 256;
  job.iterations = kIterations;
  job.batch = 8;
  job.options = ScheduleOptions::parse(schedule.options, {}, "test");
  job.host = {.add_s_per_byte = 1e-10,
              .update_s_per_byte = 1e-10,
              .encode_s_per_byte = 1e-10,
              .decode_s_per_byte = 1e-10,
              .request_s = 1e-5,
              .request_bytes = 64,
              .stages_through_host = true,
              .threads = 2};
  job.gpu_flops = 1e12;
  job.gpu_pack_s_per_byte = 1e-11;
  job.gpu_launch_s = 1e-5;
  return job;
}

ScheduleRequest small_request(const Schedule& schedule) {
  ScheduleRequest request;
  request.schedule = schedule.name;
  request.workers = kWorkers;
  const TrainingJob job = small_job(schedule);
  Servers servers;
  if (schedule.servers != nullptr) servers = schedule.servers(job, kWorkers);
  if (servers.each_node) servers.count = kNodes;
  for (int rank = 0; rank < kWorkers + servers.count; ++rank) {
    request.jobs.push_back(job);
    request.nodes.push_back(rank < kWorkers ? rank * kNodes / kWorkers : rank % kNodes);
  }
  const auto choose = [&](CollectiveOp op, const char* algorithm) {
    SelectionRule rule;
    rule.algorithm = algorithm;
    request.choices[name_of(op)] = {rule};
  };
  for (const CollectiveOp op : {CollectiveOp::kReduce, CollectiveOp::kBroadcast,
                                CollectiveOp::kGather, CollectiveOp::kScatter})
    choose(op, "binomial");
  for (const CollectiveOp op :
       {CollectiveOp::kAllReduce, CollectiveOp::kReduceScatter, CollectiveOp::kAllGather})
    choose(op, "ring");
  request.host_copy_bytes_per_s = 1e10;
  request.stuck_s = 60;
  return request;
}

// Bytes that all ranks send in one iteration, from the schedule's own definition.
std::int64_t bytes_by_definition(const Schedule& schedule, const ScheduleRequest& request) {
  const Traffic traffic = schedule.traffic(request.jobs.front(), kWorkers, request.nodes);
  double bytes = 0;
  for (const auto& [pair, amount] : traffic.messages) bytes += amount;
  for (const CollectiveStep& step : traffic.collectives) {
    CollectiveCall call;
    call.rank_count = step.group ? static_cast<int>(step.group->size()) : kWorkers;
    call.bytes = step.bytes;
    call.root = step.root;
    const Collective& collective =
        find_collective(step.op, request.choices.at(name_of(step.op)).front().algorithm, "test");
    for (int rank = 0; rank < call.rank_count; ++rank)
      for (OpStream stream = collective.plan(call, rank); stream.next();)
        if (stream.op().kind == OpKind::kSend) bytes += static_cast<double>(stream.op().bytes);
  }
  return std::llround(bytes);
}

MpiOutcome run_by(const std::string& program, const std::string& library,
                  const ScheduleRequest& request) {
  std::vector<std::string> command =
      loopback_command(library, static_cast<int>(request.jobs.size()));
  command.push_back(program);
  json text = schedule_request_to_json(request);
  text["format"] = "forescale-mpi-request-1";
  text["wait"] = {{"nap_s", 20e-6}};
  text["channels"] = 4;
  constexpr double kTimeout_s = 120;  // of a machine that does much else
  return run_mpi(command, text.dump(), {}, kTimeout_s);
}

MpiOutcome run(const std::string& library, const ScheduleRequest& request) {
  return run_by(mpi_program(library, FORESCALE_PROGRAM), library, request);
}

// By the program that knows the toy schedules.
MpiOutcome run_toy(const Schedule& schedule) {
  return run_by(FORESCALE_MPI_TOYS, "openmpi", small_request(schedule));
}

double sum_of(const json& phases) {
  double sum = 0;
  for (const auto& [phase, time_s] : phases.items()) sum += time_s.get<double>();
  return sum;
}

void expect_trained(const json& answer, const Schedule& schedule, const ScheduleRequest& request) {
  constexpr double kCompute_s = 4 * (kForward_s + kBackward_s);
  ASSERT_EQ(answer.at("iterations").size(), static_cast<size_t>(kIterations));
  for (const json& iteration : answer.at("iterations")) {
    EXPECT_GE(iteration.at("time_s").get<double>(), kCompute_s - 1e-6);
    ASSERT_EQ(iteration.at("ranks").size(), static_cast<size_t>(kWorkers));
    for (const json& rank : iteration.at("ranks")) {
      const double period_s = rank.at("period_s");
      const json& phases = rank.at("phases_s");
      EXPECT_GE(period_s, kCompute_s - 1e-6);
      // Every moment of a rank is accounted for.
      EXPECT_NEAR(sum_of(phases), period_s, 1e-3 + 1e-2 * period_s);
      if (request.compute == Compute::kGemm) continue;  // measured in CPU time
      const double forward_s = phases.at("forward");
      const double backward_s = phases.at("backward");
      EXPECT_GE(forward_s + backward_s, kCompute_s - 1e-6);
    }
  }
  EXPECT_EQ(answer.at("payload_bytes").get<std::int64_t>(),
            kIterations * bytes_by_definition(schedule, request));
}

class EverySchedule : public ::testing::TestWithParam<std::string> {};

TEST_P(EverySchedule, TrainsOverRealMpi) {
  if (const std::string reason = mpi_obstacle("openmpi"); !reason.empty()) GTEST_SKIP() << reason;
  const Schedule& schedule = Registry<Schedule>::find(GetParam(), "test");
  const ScheduleRequest request = small_request(schedule);
  const MpiOutcome outcome = run("openmpi", request);
  ASSERT_EQ(outcome.failure, "") << outcome.err_tail;
  expect_trained(parse_json(outcome.answer), schedule, request);
}

std::string test_name(std::string name) {
  for (char& letter : name)
    if (letter == '-') letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Schedule, EverySchedule, ::testing::ValuesIn(Registry<Schedule>::names()),
                         [](const auto& schedule) { return test_name(schedule.param); });

class UnderMpich : public ::testing::TestWithParam<std::string> {};

TEST_P(UnderMpich, Trains) {
  if (const std::string reason = mpi_obstacle("mpich"); !reason.empty()) GTEST_SKIP() << reason;
  const Schedule& schedule = Registry<Schedule>::find(GetParam(), "test");
  const ScheduleRequest request = small_request(schedule);
  const MpiOutcome outcome = run("mpich", request);
  ASSERT_EQ(outcome.failure, "") << outcome.err_tail;
  expect_trained(parse_json(outcome.answer), schedule, request);
}

INSTANTIATE_TEST_SUITE_P(Schedule, UnderMpich, ::testing::Values("sc-obr", "parameter-server"),
                         [](const auto& schedule) { return test_name(schedule.param); });

struct ComputeSetting {
  Compute compute = Compute::kSleep;
  bool progress_thread = false;
};
void PrintTo(const ComputeSetting& setting, std::ostream* out) {
  *out << name_of(setting.compute) << (setting.progress_thread ? ", progress thread" : "");
}

class EveryKindOfCompute : public ::testing::TestWithParam<ComputeSetting> {};

TEST_P(EveryKindOfCompute, Trains) {
  if (const std::string reason = mpi_obstacle("openmpi"); !reason.empty()) GTEST_SKIP() << reason;
  const Schedule& schedule = Registry<Schedule>::find("sc-obr", "test");
  ScheduleRequest request = small_request(schedule);
  request.compute = GetParam().compute;
  request.progress_thread = GetParam().progress_thread;
  const MpiOutcome outcome = run("openmpi", request);
  ASSERT_EQ(outcome.failure, "") << outcome.err_tail;
  expect_trained(parse_json(outcome.answer), schedule, request);
}

INSTANTIATE_TEST_SUITE_P(Setting, EveryKindOfCompute,
                         ::testing::Values(ComputeSetting{Compute::kSpin, false},
                                           ComputeSetting{Compute::kGemm, false},
                                           ComputeSetting{Compute::kSleep, true}));

// ---- what algorithms/worker.hpp promises; simulated: tests/sim/worker_contract_test.cpp ----

TEST(ThreadsOfARealRank, TakeTurns) {
  if (const std::string reason = mpi_obstacle("openmpi"); !reason.empty()) GTEST_SKIP() << reason;
  const MpiOutcome outcome = run_toy(toy_turns());
  EXPECT_EQ(outcome.failure, "") << outcome.err_tail;
}

TEST(ThreadsOfARealRank, AreSeenWhereOneWaitsInsideItsSection) {
  if (const std::string reason = mpi_obstacle("openmpi"); !reason.empty()) GTEST_SKIP() << reason;
  const MpiOutcome outcome = run_toy(toy_turns_broken());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err_tail, HasSubstr("another thread of the rank is inside the section"));
}

TEST(RealRankWithoutTrainingData, TrainsAllTheSame) {
  if (const std::string reason = mpi_obstacle("openmpi"); !reason.empty()) GTEST_SKIP() << reason;
  const MpiOutcome outcome = run_toy(toy_pipeline());
  ASSERT_EQ(outcome.failure, "") << outcome.err_tail;
  const json answer = parse_json(outcome.answer);
  for (const json& iteration : answer.at("iterations"))
    EXPECT_GE(iteration.at("time_s").get<double>(), kWorkers * 4 * (kForward_s + kBackward_s));
}

// Rank 1 believes that a layer is larger: its all-reduce never meets that of the others.
TEST(MismatchedRanks, SayWhatTheyWaitForInsteadOfHanging) {
  if (const std::string reason = mpi_obstacle("openmpi"); !reason.empty()) GTEST_SKIP() << reason;
  ScheduleRequest request = small_request(Registry<Schedule>::find("layer-all-reduce", "test"));
  request.jobs[1].stages[1].tensor_bytes[0] += 1024;
  request.jobs[1].stages[1].parameter_bytes += 1024;
  request.stuck_s = 2;
  const MpiOutcome outcome = run("openmpi", request);
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err_tail;
  EXPECT_THAT(outcome.err_tail, HasSubstr("nothing has moved on for 2 s"));
  EXPECT_THAT(outcome.err_tail, HasSubstr("waits for all-reduce #1 of"));
}

TEST(MismatchedRanks, NameTheMessageThatDiffers) {
  if (const std::string reason = mpi_obstacle("openmpi"); !reason.empty()) GTEST_SKIP() << reason;
  ScheduleRequest request = small_request(Registry<Schedule>::find("parameter-server", "test"));
  request.jobs[1].stages[0].tensor_bytes[0] += 1024;
  request.jobs[1].stages[0].parameter_bytes += 1024;
  const MpiOutcome outcome = run("openmpi", request);
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err_tail;
  EXPECT_THAT(outcome.err_tail, HasSubstr("message sizes differ"));
}

}  // namespace
}  // namespace forescale::testing
