// What algorithms/worker.hpp promises, kept by the simulator; by real ranks:
// tests/calibrate/mpi_worker_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/toy_schedules.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 2;

TrainingJob one_layer_job(int iterations) {
  TrainingJob job;
  job.iterations = iterations;
  job.stages.push_back({.name = "layer", .forward_s = 1e-3, .backward_s = 2e-3});
  return job;
}

TrainingOutcome one_layer_outcome(const Schedule& schedule, int iterations,
                                  SessionOptions options = {}) {
  const std::vector<TrainingJob> jobs(kRanks, one_layer_job(iterations));
  return simulate_training(load_platform("kesch"), load_stack("ideal"), schedule, jobs,
                           std::move(options));
}

TEST(ThreadsOfARank, TakeTurns) {
  EXPECT_EQ(error_in_child<InputError>([] { one_layer_outcome(toy_turns(), 2); }), "");
}

TEST(ThreadsOfARank, AreSeenWhereOneWaitsInsideItsSection) {
  EXPECT_THAT(error_in_child<InputError>([] { one_layer_outcome(toy_turns_broken(), 2); }),
              HasSubstr("another thread of the rank is inside the section"));
}

TEST(RankWithoutTrainingData, TrainsAllTheSame) {
  const double iteration_s =
      in_child([] { return one_layer_outcome(toy_pipeline(), 3).iteration_s; });
  EXPECT_GE(iteration_s, kRanks * (1e-3 + 2e-3));
}

// Both ranks share a node, whose reader serves its ranks strictly in turn.
TEST(RankWithoutTrainingData, HoldsUpNobody) {
  const DataSource source = load_data_source("single-reader");
  constexpr int kIterations = 12;
  SessionOptions options;
  options.data = &source;
  options.images_per_rank = {1, 1};
  options.batches = kIterations;
  const double iteration_s =
      in_child([&] { return one_layer_outcome(toy_pipeline(), kIterations, options).iteration_s; });
  EXPECT_GE(iteration_s, kRanks * (1e-3 + 2e-3));
  EXPECT_LE(iteration_s, 2 * kRanks * (1e-3 + 2e-3));
}

}  // namespace
}  // namespace forescale::testing
