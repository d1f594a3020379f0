// What a simulation that cannot go on says, and that it says it as an error which reaches the
// caller: SimulationStuck with ranks and operations, InputError with its parts, also out of a child
// process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "algorithms/pieces/plan_pieces.hpp"
#include "sim/run/session.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

CollectiveStep step_of(CollectiveOp op, std::int64_t bytes, const std::string& label) {
  return {.op = op,
          .bytes = bytes,
          .root = 0,
          .communicator = 0,
          .phase = Phase::kPropagation,
          .label = label};
}

// What `rank_count` ranks that run `program` on a star end with.
std::string stuck(int rank_count, const std::function<void(Worker&)>& program,
                  const SessionOptions& options = {}) {
  return error_in_child<SimulationStuck>([&] {
    const Platform platform = load_platform(star_of(rank_count));
    const Stack stack = load_stack("ideal");
    Session session(platform, stack, rank_count, options);
    for (int rank = 0; rank < rank_count; ++rank) session.start_rank(rank, program);
    session.run();
  });
}

std::optional<double> no_form(const CollectiveCall&, const StepCost&) { return std::nullopt; }

// Only a child that runs a broken collective registers it: no registry-driven test may see it.
SessionOptions with_broken(OpStream (*plan)(CollectiveCall call, int rank)) {
  register_collective({.op = CollectiveOp::kBroadcast,
                       .algorithm = "broken",
                       .summary = "broken on purpose",
                       .source = "this test",
                       .plan = plan,
                       .closed_form = no_form});
  SessionOptions options;
  options.choices[CollectiveOp::kBroadcast] = parse_plan("broadcast/broken", "test");
  return options;
}

std::string stuck_with(OpStream (*plan)(CollectiveCall call, int rank), int rank_count) {
  return error_in_child<SimulationStuck>([&] {
    const Platform platform = load_platform(star_of(rank_count));
    const Stack stack = load_stack("ideal");
    Session session(platform, stack, rank_count, with_broken(plan));
    for (int rank = 0; rank < rank_count; ++rank)
      session.start_rank(rank, [](Worker& worker) {
        worker.run(step_of(CollectiveOp::kBroadcast, 64, "weights"));
      });
    session.run();
  });
}

// Rank 2 gets its bytes, rank 1 never posts its receive.
OpStream without_a_receive(CollectiveCall call, int rank) {
  const ByteRange whole = {.offset = 0, .bytes = call.bytes};
  if (rank == 0) co_yield send(2, whole);
  if (rank == 0) co_yield send(1, whole);
  if (rank == 2) co_yield recv(0, whole);
}

TEST(Stuck, MissingReceiveNamesBothRanksAndTheOperation) {
  EXPECT_THAT(stuck_with(without_a_receive, 3),
              AllOf(HasSubstr("cannot finish"),
                    HasSubstr("rank 0 (main thread) waits for broadcast #0 \"weights\" on "
                              "communicator 0: operation 1 sends 64 bytes to rank 1"),
                    HasSubstr("unmatched: rank 0 waits to send 64 bytes to rank 1")));
}

// Both send first, and both sends need the other's receive.
OpStream each_receives_after_sending(CollectiveCall call, int rank) {
  const ByteRange whole = {.offset = 0, .bytes = call.bytes};
  co_yield recv(1 - rank, whole);
  co_yield send(1 - rank, whole, 1);
}

TEST(Stuck, CircleOfWaitsNamesEveryRank) {
  EXPECT_THAT(stuck_with(each_receives_after_sending, 2),
              AllOf(HasSubstr("rank 0 (main thread)"), HasSubstr("rank 1 (main thread)"),
                    HasSubstr("operation 0 receives 64 bytes from rank 1"),
                    HasSubstr("operation 0 receives 64 bytes from rank 0")));
}

OpStream with_two_sizes(CollectiveCall call, int rank) {
  if (rank == 0) co_yield send(1, {.offset = 0, .bytes = call.bytes});
  if (rank == 1) co_yield recv(0, {.offset = 0, .bytes = call.bytes / 2});
}

// A wrong plan is a bug of ours: the child aborts, and its parent lives to tell.
TEST(Stuck, PlanWithTwoSizesAborts) {
  EXPECT_THAT(stuck_with(with_two_sizes, 2), HasSubstr("a simulation process died: Aborted"));
}

TEST(Stuck, SwappedCollectivesNameTheOperationAndBothRanks) {
  const std::string text = stuck(2, [](Worker& worker) {
    const CollectiveStep weights = step_of(CollectiveOp::kBroadcast, 64, "weights");
    const CollectiveStep gradients = step_of(CollectiveOp::kReduce, 128, "gradients");
    worker.run(step_of(CollectiveOp::kAllReduce, 8, "loss"));
    worker.run(worker.rank() == 0 ? weights : gradients);
    worker.run(worker.rank() == 0 ? gradients : weights);
  });
  EXPECT_THAT(text,
              AllOf(HasSubstr("different order on communicator 0"), HasSubstr("operation #1 is"),
                    HasSubstr("broadcast of 64 bytes"), HasSubstr("reduce of 128 bytes"),
                    HasSubstr("on rank 0"), HasSubstr("on rank 1"), HasSubstr("\"weights\""),
                    HasSubstr("\"gradients\"")));
}

// On two communicators the same program is right.
TEST(Stuck, SwappedCollectivesOnTwoCommunicatorsFinish) {
  EXPECT_EQ(stuck(2,
                  [](Worker& worker) {
                    CollectiveStep weights = step_of(CollectiveOp::kBroadcast, 64, "weights");
                    weights.communicator = 1;
                    const CollectiveStep gradients =
                        step_of(CollectiveOp::kReduce, 128, "gradients");
                    const Request first = worker.start(worker.rank() == 0 ? weights : gradients);
                    worker.run(worker.rank() == 0 ? gradients : weights);
                    worker.wait(first);
                  }),
            "");
}

TEST(Stuck, DifferentSizesNameBothRanks) {
  const std::string text = stuck(2, [](Worker& worker) {
    worker.run(step_of(CollectiveOp::kBroadcast, worker.rank() == 0 ? 64 : 32, "weights"));
  });
  EXPECT_THAT(text, AllOf(HasSubstr("operation #0"), HasSubstr("64 bytes"), HasSubstr("32 bytes"),
                          HasSubstr("on rank 0"), HasSubstr("on rank 1")));
}

TEST(Stuck, RankThatNeverCallsIsNamedByThoseWhoWait) {
  const std::string text = stuck(4, [](Worker& worker) {
    if (worker.rank() != 3) worker.run(step_of(CollectiveOp::kReduce, 64, "gradients"));
  });
  EXPECT_THAT(text, AllOf(HasSubstr("rank 0 (main thread) waits for reduce #0 \"gradients\""),
                          HasSubstr("unmatched: rank 2 waits to receive 64 bytes from rank 3")));
}

TEST(Stuck, SignalThatNobodySetsNamesTheThread) {
  const std::string text = stuck(1, [](Worker& worker) {
    const Request never = worker.make_signal();
    const Request helper = worker.spawn([&](Worker& thread) { thread.wait(never); });
    worker.wait(helper);
  });
  EXPECT_THAT(text, AllOf(HasSubstr("rank 0 (main thread)"), HasSubstr("rank 0 (helper thread 1)"),
                          HasSubstr("a signal")));
}

// 1 GB at 12.5 GB/s takes 80 ms; the link of rank 0 fails after 10 ms.
TEST(Stuck, FailingLinkNamesTheMessageUnderIt) {
  const std::string text = error_in_child<SimulationStuck>([] {
    const Platform platform = load_platform(star_of(2));
    const Stack stack = load_stack("ideal");
    Session session(platform, stack, 2, {});
    for (int rank = 0; rank < 2; ++rank)
      session.start_rank(rank, [](Worker& worker) {
        worker.run(step_of(CollectiveOp::kBroadcast, 1000000000, "weights"));
      });
    session.fail_link({.kind = ResourceKind::kLink, .index = 0, .rule = -1}, 0.010);
    session.run();
  });
  EXPECT_THAT(text, HasSubstr("a link failed under 1000000000 bytes from rank 0 to rank 1"));
}

TEST(Stuck, LinkThatFailsAfterwardsDisturbsNobody) {
  const double time_s = in_child([] {
    const Platform platform = load_platform(star_of(2));
    const Stack stack = load_stack("ideal");
    Session session(platform, stack, 2, {});
    for (int rank = 0; rank < 2; ++rank)
      session.start_rank(rank, [](Worker& worker) {
        worker.run(step_of(CollectiveOp::kBroadcast, 1000000000, "weights"));
      });
    session.fail_link({.kind = ResourceKind::kLink, .index = 0, .rule = -1}, 1);
    session.run();
    return session.finished_s();
  });
  const double expected_s = kAlpha_s + 1e9 / kStarBytesPerS;
  EXPECT_NEAR(time_s, expected_s, 1e-9 * expected_s);
}

// ---- errors of the input that only show inside an actor ----

TEST(InputErrors, StackWithoutARuleForAnOperation) {
  const std::string text = error_in_child<InputError>([] {
    const Platform platform = load_platform(star_of(2));
    Stack stack = load_stack("ideal");
    stack.selection.erase("reduce");
    simulate_collective(platform, stack, step_of(CollectiveOp::kReduce, 64, "gradients"), 2, {});
  });
  EXPECT_THAT(text, AllOf(HasSubstr("stack ideal:/selection/reduce"),
                          HasSubstr("no algorithm for 2 ranks and 64 bytes")));
}

// Caffe's peer-to-peer stack has no path between nodes.
TEST(InputErrors, StackWithoutAPathForAPair) {
  const std::string text = error_in_child<InputError>([] {
    const Platform platform = load_platform("kesch");
    const Stack stack = load_stack("caffe-p2p");
    simulate_collective(platform, stack, step_of(CollectiveOp::kReduce, 64, "gradients"), 32, {});
  });
  EXPECT_THAT(text, AllOf(HasSubstr("stack caffe-p2p:/paths"), HasSubstr("inter-node")));
}

TEST(InputErrors, MoreRanksThanSlots) {
  const std::string text = error_in_child<InputError>([] {
    const Platform platform = load_platform(star_of(2));
    const Stack stack = load_stack("ideal");
    simulate_collective(platform, stack, step_of(CollectiveOp::kReduce, 64, "gradients"), 3, {});
  });
  EXPECT_THAT(text, HasSubstr("--gpus = 3: must be <= 2"));
}

// ---- children ----

std::vector<std::string> run_one(const std::function<std::string()>& task) {
  return run_isolated({task}, 1, [](size_t) {});
}

TEST(RunIsolated, KeepsTheOrderOfTheTasksAndLongTexts) {
  std::vector<std::function<std::string()>> tasks;
  for (int i = 0; i < 20; ++i)
    tasks.emplace_back([i] {
      return std::string(static_cast<size_t>(1 + 300000 * (i % 3)), static_cast<char>('a' + i));
    });
  std::vector<size_t> done;
  const auto texts = run_isolated(tasks, 4, [&](size_t finished) { done.push_back(finished); });
  ASSERT_EQ(texts.size(), tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) EXPECT_EQ(texts[i], tasks[i]()) << i;
  ASSERT_EQ(done.size(), tasks.size());
  for (size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], i + 1);
}

TEST(RunIsolated, InputErrorKeepsItsParts) {
  const InputErrorParts parts = {
      .source = "a \"file\".json", .path = "/b/0", .value = "-1", .constraint = "must be >= 0"};
  try {
    run_one([&]() -> std::string { throw InputError(parts); });
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_EQ(error.parts().source, parts.source);
    EXPECT_EQ(error.parts().path, parts.path);
    EXPECT_EQ(error.parts().value, parts.value);
    EXPECT_EQ(error.parts().constraint, parts.constraint);
  }
}

TEST(RunIsolated, OtherErrorsKeepTheirKindAndText) {
  const auto thrown_by = [](const std::function<std::string()>& task) -> std::string {
    try {
      run_one(task);
    } catch (const SimulationStuck& error) {
      return std::string("stuck ") + error.what();
    } catch (const CheckFailed& error) {
      return std::string("check ") + error.what();
    } catch (const std::runtime_error& error) {
      return std::string("other ") + error.what();
    }
    return "none";
  };
  EXPECT_EQ(thrown_by([]() -> std::string { throw SimulationStuck("x"); }), "stuck x");
  EXPECT_EQ(thrown_by([]() -> std::string { throw CheckFailed("y"); }), "check y");
  EXPECT_EQ(thrown_by([]() -> std::string { throw std::runtime_error("z"); }), "other z");
  EXPECT_EQ(thrown_by([]() -> std::string { std::abort(); }),
            "stuck a simulation process died: Aborted");
  EXPECT_THAT(thrown_by([]() -> std::string { _Exit(7); }),
              HasSubstr("stuck a simulation process ended"));
  EXPECT_EQ(thrown_by([]() -> std::string { return ""; }), "none");
}

// The first by order, whichever ends first.
TEST(RunIsolated, ThrowsTheFirstTasksError) {
  try {
    run_isolated(
        {[] { return std::string("fine"); }, []() -> std::string { throw CheckFailed("second"); },
         []() -> std::string { throw SimulationStuck("third"); }},
        3, [](size_t) {});
    FAIL() << "no error";
  } catch (const CheckFailed& error) {
    EXPECT_STREQ(error.what(), "second");
  }
}

}  // namespace
}  // namespace forescale::testing
