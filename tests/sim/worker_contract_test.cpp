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
  return simulate_training(load_platform("kesch"), load_stack("ideal"), schedule,
                           jobs_of(kRanks, one_layer_job(iterations)), std::move(options));
}

TEST(ThreadsOfARank, TakeTurns) {
  EXPECT_EQ(error_in_child<InputError>([] { one_layer_outcome(toy_turns(), 2); }), "");
}

TEST(ThreadsOfARank, AreSeenWhereOneWaitsInsideItsSection) {
  EXPECT_THAT(error_in_child<InputError>([] { one_layer_outcome(toy_turns_broken(), 2); }),
              HasSubstr("another thread of the rank is inside the section"));
}

// Of four in a stream one is waited for. What nobody waits for runs as one with the next; with a
// timeline each by itself.
TEST(KernelsOfAStream, EndWhenTheyAreWaitedFor) {
  const Platform platform = load_platform("kesch");
  const Stack stack = load_stack("ideal");
  for (const bool is_written_down : {false, true}) {
    const std::vector<double> seen = numbers_in_child([&] {
      Timeline timeline;
      SessionOptions options;
      if (is_written_down) options.timeline = &timeline;
      std::vector<double> ends_s(2);
      Session session(platform, stack, 1, options);
      session.start_rank(0, [&](Worker& worker) {
        const auto launch = [&](double duration_s, Phase phase) {
          return worker.launch(
              {.stream = 0, .duration_s = duration_s, .phase = phase, .label = "layer"});
        };
        launch(1, Phase::kForward);
        launch(2, Phase::kForward);
        const Request middle = launch(4, Phase::kForward);
        launch(8, Phase::kForward);
        launch(16, Phase::kForward);
        launch(32, Phase::kBackward);
        const Request last = launch(64, Phase::kBackward);
        worker.wait(middle);
        ends_s[0] = worker.now_s();
        worker.wait(last);
        ends_s[1] = worker.now_s();
        worker.end_iteration();
      });
      session.run();
      const Attribution& spent = session.attributions().front().front();
      ends_s.push_back(spent.phase_s[static_cast<size_t>(Phase::kForward)]);
      ends_s.push_back(spent.phase_s[static_cast<size_t>(Phase::kBackward)]);
      return ends_s;
    });
    EXPECT_EQ(seen, (std::vector<double>{7, 127, 31, 96})) << is_written_down;
  }
}

// One that begins behind the kernels launched before it does not wait for one launched after it,
// in the same instant or later.
TEST(KernelsOfAStream, LaunchedAfterACollectiveDoNotHoldItUp) {
  const Platform platform = load_platform("owens");
  Stack stack = load_stack("mvapich2-2.3");
  for (SelectionRule& rule : stack.selection["all-reduce"]) rule.default_stream = true;
  for (const double apart_s : {0.0, 0.5}) {
    const double done_s = in_child([&] {
      double seen_s = 0;
      Session session(platform, stack, 2, {});
      for (int rank = 0; rank < 2; ++rank)
        session.start_rank(rank, [&, rank](Worker& worker) {
          const auto launch = [&](double duration_s) {
            return worker.launch({.stream = 0,
                                  .duration_s = duration_s,
                                  .phase = Phase::kBackward,
                                  .label = "layer"});
          };
          launch(1);
          if (apart_s > 0) worker.wait(worker.timer(apart_s));
          const Request reduced =
              worker.start({.op = CollectiveOp::kAllReduce, .bytes = kMiB, .label = "gradients"});
          const Request last = launch(10);
          worker.wait(reduced);
          if (rank == 0) seen_s = worker.now_s();
          worker.wait(last);
        });
      session.run();
      return seen_s;
    });
    EXPECT_GT(done_s, 1) << apart_s;
    EXPECT_LT(done_s, 1.5) << apart_s;
  }
}

// When two all-reduces that are started together end on rank 1, the second one on `communicator`.
std::vector<double> ends_of_two(const Stack& stack, int communicator) {
  const Platform platform = load_platform("owens");
  return numbers_in_child([&] {
    std::vector<double> ends_s;
    Session session(platform, stack, 2, {});
    for (int rank = 0; rank < 2; ++rank)
      session.start_rank(rank, [&, rank](Worker& worker) {
        CollectiveStep step{.op = CollectiveOp::kAllReduce, .bytes = 64 * kMiB, .label = "one"};
        const Request first = worker.start(step);
        step.communicator = communicator;
        const Request second = worker.start(step);
        for (const Request& each : {first, second}) {
          worker.wait(each);
          if (rank == 1) ends_s.push_back(worker.now_s());
        }
      });
    session.run();
    return ends_s;
  });
}

TEST(CollectivesInOrder, GoOneAfterTheOtherOnACommunicator) {
  Stack stack = load_stack("ideal");
  ASSERT_FALSE(stack.collectives_in_order);
  stack.channels_of = ChannelsOf::kCollective;
  const std::vector<double> together = ends_of_two(stack, 0);
  EXPECT_NEAR(together[0], together[1], 1e-9);
  stack.collectives_in_order = true;
  const std::vector<double> in_order = ends_of_two(stack, 0);
  EXPECT_NEAR(in_order[1], 2 * in_order[0], 1e-9);
  EXPECT_LT(in_order[0], 0.6 * together[0]);
  EXPECT_EQ(ends_of_two(stack, 1), together);
}

// What one of them waits for, kernels launched before it, the one behind it waits for too.
TEST(CollectivesInOrder, KeepTheOrderOfTheCalls) {
  Stack stack = load_stack("ideal");
  stack.collectives_in_order = true;
  for (auto& [op, rules] : stack.selection)
    for (SelectionRule& rule : rules) rule.default_stream = op == "all-reduce";
  const Platform platform = load_platform("owens");
  const std::vector<double> ends_s = numbers_in_child([&] {
    std::vector<double> seen_s(2);
    Session session(platform, stack, 2, {});
    for (int rank = 0; rank < 2; ++rank)
      session.start_rank(rank, [&](Worker& worker) {
        worker.launch({.stream = 0, .duration_s = 1, .phase = Phase::kBackward, .label = "layer"});
        const Request reduced =
            worker.start({.op = CollectiveOp::kAllReduce, .bytes = kMiB, .label = "first"});
        const Request gathered =
            worker.start({.op = CollectiveOp::kAllGather, .bytes = kMiB, .label = "second"});
        worker.wait(reduced);
        seen_s[0] = worker.now_s();
        worker.wait(gathered);
        seen_s[1] = worker.now_s();
      });
    session.run();
    return seen_s;
  });
  EXPECT_GT(ends_s[0], 1);
  EXPECT_GT(ends_s[1], ends_s[0]);
}

// Of an all-reduce between two GPUs as many bytes as the vector has come to each.
TEST(KernelsBesideACollective, WaitForWhatItTakesOfTheMemory) {
  const Platform platform = load_platform("owens");
  const auto kernel_s = [&](double accesses, bool on_host) {
    Stack stack = load_stack("ideal");
    stack.memory_accesses = accesses;
    return in_child([&] {
      double ended_s = 0;
      Session session(platform, stack, 2, {});
      for (int rank = 0; rank < 2; ++rank)
        session.start_rank(rank, [&, rank](Worker& worker) {
          const Request kernel = worker.launch(
              {.stream = 0, .duration_s = 1, .phase = Phase::kBackward, .label = "layer"});
          worker.run({.op = CollectiveOp::kAllReduce,
                      .bytes = 512 * kMiB,
                      .label = "gradients",
                      .on_host = on_host});
          worker.wait(kernel);
          if (rank == 1) ended_s = worker.now_s();
        });
      session.run();
      return ended_s;
    });
  };
  const double memory = platform.gpu_models.front().memory_bandwidth.value;
  EXPECT_NEAR(kernel_s(3, false), 1 + 3.0 * 512 * kMiB / memory, 1e-9);
  EXPECT_NEAR(kernel_s(0, false), 1, 1e-9);
  EXPECT_NEAR(kernel_s(3, true), 1, 1e-9);
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
