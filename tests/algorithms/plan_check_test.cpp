// Plans that are wrong in one way each: the check must find it and say where.
#include "algorithms/check/plan_check.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/pieces/plan_pieces.hpp"

namespace forescale {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr ByteRange kWhole = {.offset = 0, .bytes = 64};
constexpr ByteRange kHalf = {.offset = 0, .bytes = 32};

std::vector<std::string> problems_of(CollectiveOp op, OpStream (*plan)(CollectiveCall, int),
                                     int rank_count) {
  Collective collective;
  collective.op = op;
  collective.plan = plan;
  return check_plan(collective, {.rank_count = rank_count, .bytes = kWhole.bytes});
}

OpStream right_reduce(CollectiveCall, int rank) {
  if (rank == 0) co_yield recv_reduce(1, kWhole);
  if (rank == 1) co_yield send(0, kWhole);
}
TEST(PlanCheck, FindsNothingInARightPlan) {
  EXPECT_THAT(problems_of(CollectiveOp::kReduce, right_reduce, 2), IsEmpty());
}

OpStream missing_receive(CollectiveCall, int rank) {
  if (rank == 1) co_yield send(0, kWhole);
}
TEST(PlanCheck, FindsAMissingReceive) {
  const auto problems = problems_of(CollectiveOp::kReduce, missing_receive, 2);
  EXPECT_THAT(problems, Contains("rank 1 sends 1 messages to rank 0, which receives 0"));
  EXPECT_THAT(problems, Contains("rank 1 waits to send 64 bytes to rank 0 (operation 0)"));
}

OpStream wrong_size(CollectiveCall, int rank) {
  if (rank == 0) co_yield recv_reduce(1, kHalf);
  if (rank == 1) co_yield send(0, kWhole);
}
TEST(PlanCheck, FindsAWrongSize) {
  EXPECT_THAT(problems_of(CollectiveOp::kReduce, wrong_size, 2),
              Contains("rank 1 sends 64 bytes (operation 0), rank 0 receives 32 of them "
                       "(operation 0)"));
}

OpStream twice(CollectiveCall, int rank) {
  for (int time = 0; time < 2; ++time) {
    if (rank == 0) co_yield recv_reduce(1, kWhole);
    if (rank == 1) co_yield send(0, kWhole);
  }
}
TEST(PlanCheck, FindsAContributionAddedTwice) {
  EXPECT_THAT(problems_of(CollectiveOp::kReduce, twice, 2),
              Contains("rank 0 adds what it must not, element 0 of ranks {1} to element 0 of "
                       "ranks {0, 1}: receive 64 bytes from rank 1 (operation 1)"));
}

OpStream half_delivered(CollectiveCall, int rank) {
  if (rank == 0) co_yield recv_reduce(1, kHalf);
  if (rank == 1) co_yield send(0, kHalf);
}
TEST(PlanCheck, FindsAContributionThatNeverArrives) {
  EXPECT_THAT(problems_of(CollectiveOp::kReduce, half_delivered, 2),
              Contains("rank 0 ends with element 8 of ranks {0} at element 8, not element 8 of "
                       "ranks {0, 1}"));
}

OpStream shifted(CollectiveCall, int rank) {
  if (rank == 0) co_yield send(1, {.offset = 0, .bytes = 32});
  if (rank == 0) co_yield send(1, {.offset = 32, .bytes = 32});
  if (rank == 1) co_yield recv(0, {.offset = 32, .bytes = 32});
  if (rank == 1) co_yield recv(0, {.offset = 0, .bytes = 32});
}
TEST(PlanCheck, FindsElementsInTheWrongPlace) {
  EXPECT_THAT(problems_of(CollectiveOp::kBroadcast, shifted, 2),
              Contains(HasSubstr("rank 1 ends with element 8 of ranks {0} at element 0")));
}

// Rank 1 passes on before it has: in the order of the stream, but without saying `after`.
OpStream read_too_early(CollectiveCall, int rank) {
  if (rank == 0) co_yield send(1, kWhole);
  if (rank == 1) co_yield recv(0, kWhole);
  if (rank == 1) co_yield send(2, kWhole);
  if (rank == 2) co_yield recv(1, kWhole);
}
TEST(PlanCheck, FindsAMissingDependency) {
  EXPECT_THAT(problems_of(CollectiveOp::kBroadcast, read_too_early, 3),
              Contains("rank 1 does not wait for its own receive 64 bytes from rank 0 (operation 0)"
                       " before it touches the same bytes: send 64 bytes to rank 2 (operation 1)"));
}

// Recursive doubling of two ranks; the reduction must not reach what is still being sent.
OpStream write_too_early(CollectiveCall, int rank) {
  co_yield send(1 - rank, kWhole);
  co_yield recv_reduce(1 - rank, kWhole);
}
OpStream write_in_time(CollectiveCall, int rank) {
  co_yield send(1 - rank, kWhole);
  co_yield recv_reduce(1 - rank, kWhole, 0, 1);
}
TEST(PlanCheck, FindsAWriteIntoWhatIsBeingSent) {
  EXPECT_THAT(problems_of(CollectiveOp::kAllReduce, write_too_early, 2),
              Contains(HasSubstr("rank 0 does not wait for its own send 64 bytes to rank 1")));
  EXPECT_THAT(problems_of(CollectiveOp::kAllReduce, write_in_time, 2), IsEmpty());
}

// Two receives into the same bytes, the second not waiting for the first.
OpStream overwrite(CollectiveCall, int rank) {
  for (int time = 0; time < 2; ++time) {
    if (rank == 0) co_yield send(1, kWhole);
    if (rank == 1) co_yield recv(0, kWhole);
  }
}
TEST(PlanCheck, FindsUnorderedWrites) {
  EXPECT_THAT(problems_of(CollectiveOp::kBroadcast, overwrite, 2),
              Contains(HasSubstr("rank 1 does not wait for its own receive 64 bytes")));
}

// Each waits for the others before it gives: 0 for 2, 1 for 0, 2 for 1.
OpStream circle(CollectiveCall, int rank) {
  co_yield recv_reduce((rank + 2) % 3, kWhole);
  co_yield send((rank + 1) % 3, kWhole, 1);
}
TEST(PlanCheck, NamesWhoWaitsForWhomInADeadlock) {
  const auto problems = problems_of(CollectiveOp::kAllReduce, circle, 3);
  EXPECT_THAT(problems, Contains("rank 0 waits to receive 64 bytes from rank 2 (operation 0)"));
  EXPECT_THAT(problems, Contains("rank 1 waits to receive 64 bytes from rank 0 (operation 0)"));
  EXPECT_THAT(problems, Contains("rank 2 waits to send 64 bytes to rank 0 (operation 1), and for "
                                 "its own operations before that"));
}

// Messages match one by one, but the ports take them in orders that cross.
OpStream crossed(CollectiveCall, int rank) {
  const int first = rank == 0 ? 1 : 0;
  if (rank == 2) {
    co_yield recv(1, kHalf);
    co_yield recv(0, kHalf, 1);
    co_yield send(0, kHalf, 1);
  } else {
    co_yield send(rank == 0 ? 2 : first, kHalf);
    if (rank == 1) co_yield send(2, kHalf);
    if (rank == 0) co_yield recv(2, kHalf, 0, 1);
    if (rank == 0) co_yield recv(1, kHalf, 1);
  }
}
TEST(PlanCheck, FindsADeadlockOfPorts) {
  EXPECT_THAT(problems_of(CollectiveOp::kAllReduce, crossed, 3),
              Contains(HasSubstr("rank 0 waits to receive 32 bytes from rank 2 (operation 1)")));
}

OpStream outside(CollectiveCall, int rank) {
  if (rank == 0) co_yield send(1, {.offset = 32, .bytes = 64});
}
OpStream to_itself(CollectiveCall, int rank) { co_yield send(rank, kWhole); }
OpStream nothing(CollectiveCall, int rank) { co_yield send(1 - rank, {.offset = 0, .bytes = 0}); }
OpStream half_an_element(CollectiveCall, int rank) {
  co_yield send(1 - rank, {.offset = 0, .bytes = 6});
}
OpStream before_the_start(CollectiveCall, int rank) { co_yield send(1 - rank, kWhole, 1); }
OpStream in_no_queue(CollectiveCall, int rank) {
  Op op = send(1 - rank, kWhole);
  op.queue = kQueuesMax;
  co_yield op;
}
TEST(PlanCheck, FindsMalformedOperations) {
  const auto first_of = [](OpStream (*plan)(CollectiveCall, int)) {
    return problems_of(CollectiveOp::kAllReduce, plan, 2).front();
  };
  EXPECT_EQ(first_of(outside), "rank 0: send (operation 0) leaves the buffer of 64 bytes");
  EXPECT_EQ(first_of(to_itself), "rank 0: send (operation 0) names rank 0 as its peer");
  EXPECT_EQ(first_of(nothing), "rank 0: send (operation 0) moves 0 bytes");
  EXPECT_EQ(first_of(half_an_element), "rank 0: send (operation 0) splits an element of 4 bytes");
  EXPECT_EQ(first_of(before_the_start),
            "rank 0: send (operation 0) looks back 1 operations, at most 0 are there");
  EXPECT_EQ(
      first_of(in_no_queue),
      fmt::format("rank 0: send (operation 0) is in queue {0} or awaits queue 0, there are {0}",
                  kQueuesMax));
}

constexpr ByteRange kSecondHalf = {.offset = 32, .bytes = 32};
Op joining(Op op) {
  op.joins_next = true;
  return op;
}
// What the sender joins, and what the receiver does.
template <bool sender_joins, bool receiver_joins>
OpStream in_halves(CollectiveCall, int rank) {
  if (rank == 1) co_yield sender_joins ? joining(send(0, kHalf)) : send(0, kHalf);
  if (rank == 1) co_yield send(0, kSecondHalf);
  if (rank == 0) co_yield receiver_joins ? joining(recv_reduce(1, kHalf)) : recv_reduce(1, kHalf);
  if (rank == 0) co_yield recv_reduce(1, kSecondHalf);
}
OpStream joins_nothing(CollectiveCall, int rank) { co_yield joining(send(1 - rank, kWhole)); }
OpStream joins_a_receive(CollectiveCall, int rank) {
  co_yield joining(send(1 - rank, kWhole));
  co_yield recv_reduce(1 - rank, kWhole);
}
TEST(PlanCheck, FindsWhatIsBadlyJoined) {
  const auto problems = [](OpStream (*plan)(CollectiveCall, int), bool joins = true) {
    Collective collective;
    collective.op = CollectiveOp::kReduce;
    collective.plan = plan;
    collective.joins = joins;
    return check_plan(collective, {.rank_count = 2, .bytes = kWhole.bytes});
  };
  EXPECT_THAT(problems(in_halves<true, true>), IsEmpty());
  EXPECT_THAT(problems(in_halves<false, false>, false), IsEmpty());
  EXPECT_THAT(problems(in_halves<true, false>), Contains(HasSubstr("join other operations")));
  EXPECT_THAT(problems(in_halves<true, true>, false), Contains(HasSubstr("does not say")));
  EXPECT_THAT(problems(joins_nothing), Contains(HasSubstr("joins a next one that is not there")));
  EXPECT_THAT(problems(joins_a_receive), Contains(HasSubstr("another kind, peer or queue")));
}

// Rank 1 hands on to 2, in a queue of its own, what it received in another one.
OpStream across_queues(int rank, std::uint8_t awaits) {
  const auto queued = [](Op op, std::uint8_t queue, std::uint8_t awaited) {
    op.queue = queue;
    op.awaits = awaited;
    return op;
  };
  if (rank == 0) co_yield send(1, kWhole);
  if (rank == 1) co_yield recv(0, kWhole);
  if (rank == 1) co_yield queued(send(2, kWhole, 1), 1, awaits);
  if (rank == 2) co_yield queued(recv(1, kWhole), 1, 1);
}
OpStream waits_for_the_queue(CollectiveCall, int rank) { return across_queues(rank, 0); }
OpStream waits_for_its_own(CollectiveCall, int rank) { return across_queues(rank, 1); }
OpStream crosses_over(CollectiveCall, int rank) {
  Op op = rank == 0 ? send(1, kWhole) : recv(0, kWhole);
  if (rank == 0) op.queue = 1;
  if (rank < 2) co_yield op;
}
TEST(PlanCheck, WaitsAreForTheQueueThatIsAwaited) {
  EXPECT_THAT(problems_of(CollectiveOp::kBroadcast, waits_for_the_queue, 3), IsEmpty());
  EXPECT_THAT(problems_of(CollectiveOp::kBroadcast, waits_for_its_own, 3),
              Contains(HasSubstr("rank 1 does not wait for its own receive 64 bytes from rank 0")))
      << "in the order of the stream it does";
  EXPECT_THAT(problems_of(CollectiveOp::kBroadcast, crosses_over, 2),
              Contains("rank 0 sends 1 messages to rank 1, which receives 0"));
}

}  // namespace
}  // namespace forescale
