// Exit code 3, through the program's own main: a plan with a missing receive and two ranks with
// swapped collectives, each as a subcommand that exists in this test only.
#include <gtest/gtest.h>

#include <array>

#include "algorithms/pieces/plan_pieces.hpp"
#include "cli/command.hpp"
#include "sim/run/simulate.hpp"

namespace forescale {
namespace {

// Rank 0 waits for rank 1 and rank 2; rank 2's send is missing from the plan.
OpStream missing_send(CollectiveCall /*call*/, int rank) {
  const ByteRange range{0, 1024};
  if (rank == 0) {
    co_yield recv_reduce(1, range);
    co_yield recv_reduce(2, range);
  } else if (rank == 1) {
    co_yield send(0, range);
  }
}

void run_missing_send() {
  register_collective({.op = CollectiveOp::kReduce,
                       .algorithm = "missing-send",
                       .summary = "wrong on purpose",
                       .source = "this test",
                       .plan = missing_send,
                       .closed_form = [](const CollectiveCall&, const StepCost&) {
                         return std::optional<double>();
                       }});
  SessionOptions options;
  options.choices[CollectiveOp::kReduce] = parse_plan("reduce/missing-send", "test");
  simulate_collective(
      load_platform("star:hosts=3,bandwidth=1GB/s,latency=1us"), load_stack("ideal"),
      {.op = CollectiveOp::kReduce, .bytes = 1024, .label = "gradients"}, 3, options);
}

// Rank 1 reduces before it broadcasts, the others after.
void run_swapped() {
  const Platform platform = load_platform("star:hosts=3,bandwidth=1GB/s,latency=1us");
  const Stack stack = load_stack("ideal");
  Session session(platform, stack, 3, {});
  for (int rank = 0; rank < 3; ++rank)
    session.start_rank(rank, [rank](Worker& worker) {
      const CollectiveStep broadcast{
          .op = CollectiveOp::kBroadcast, .bytes = 1024, .label = "weights"};
      const CollectiveStep reduce{.op = CollectiveOp::kReduce, .bytes = 1024, .label = "gradients"};
      worker.run(rank == 1 ? reduce : broadcast);
      worker.run(rank == 1 ? broadcast : reduce);
    });
  session.run();
}

const bool kMissingSendRegistered =
    Registry<Command>::add(
        {.name = "test-missing-send",
         .add =
             [](Subcommand app) {
               app.add_subcommand("test-missing-send").callback(run_missing_send);
             }}) &&
    Registry<Command>::add({.name = "test-swapped", .add = [](Subcommand app) {
                              app.add_subcommand("test-swapped").callback(run_swapped);
                            }});

std::string expect_stuck(std::string command) {
  std::string program = "forescale";
  std::array<char*, 2> words{program.data(), command.data()};
  ::testing::internal::CaptureStderr();
  const int exit_code = forescale_main(static_cast<int>(words.size()), words.data());
  std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(kMissingSendRegistered);
  EXPECT_EQ(exit_code, 3) << said;
  return said;
}

TEST(Stuck, MissingSendNamesWhoWaitsForWhom) {
  const std::string said = expect_stuck("test-missing-send");
  EXPECT_NE(said.find("rank 0 (main thread) waits for reduce #0 \"gradients\""), std::string::npos)
      << said;
  EXPECT_NE(said.find("rank 0 waits to receive 1024 bytes from rank 2"), std::string::npos) << said;
}

TEST(Stuck, SwappedCollectivesNameBothRanksAndOperations) {
  const std::string said = expect_stuck("test-swapped");
  EXPECT_NE(said.find("operation #0 is broadcast of 1024 bytes (\"weights\", root 0) on rank 0, "
                      "but reduce of 1024 bytes (\"gradients\", root 0) on rank 1"),
            std::string::npos)
      << said;
}

}  // namespace
}  // namespace forescale
