#include "algorithms/plan.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "algorithms/pieces/plan_pieces.hpp"

namespace forescale {
namespace {

std::vector<Op> all(OpStream stream) {
  std::vector<Op> ops;
  while (stream.next()) ops.push_back(stream.op());
  return ops;
}

OpStream listed(std::vector<Op> ops) {
  for (const Op& op : ops) co_yield op;
}

constexpr ByteRange kRange = {.offset = 0, .bytes = 8};

TEST(BlockRange, FirstBlocksAreAnElementLarger) {
  // 7 elements of 4 bytes over 3 ranks: 3 + 2 + 2.
  EXPECT_EQ(block_range(28, 3, 0, 4).bytes, 12);
  EXPECT_EQ(block_range(28, 3, 1, 4).offset, 12);
  EXPECT_EQ(block_range(28, 3, 2, 4).offset, 20);
  EXPECT_EQ(block_range(28, 3, 2, 4).bytes, 8);
}

TEST(BlockRange, CoversEveryByteOnceForAnySize) {
  for (std::int64_t bytes = 0; bytes < 60; ++bytes)
    for (int count = 1; count < 20; ++count) {
      std::int64_t end = 0;
      for (int index = 0; index < count; ++index) {
        const ByteRange block = block_range(bytes, count, index, 4);
        EXPECT_EQ(block.offset, end);
        EXPECT_GE(block.bytes, 0);
        end += block.bytes;
      }
      EXPECT_EQ(end, bytes);
    }
}

TEST(OpStream, AnEmptyStreamHasNoOperations) {
  OpStream stream;
  EXPECT_FALSE(stream.next());
}

TEST(Mapped, RenamesPeersAndShiftsOffsets) {
  const std::vector<Op> ops = all(mapped(
      listed({send(1, kRange), copy(kRange, 16)}), [](int rank) { return rank + 10; }, 100));
  EXPECT_EQ(ops[0].peer, 11);
  EXPECT_EQ(ops[0].offset, 100);
  EXPECT_EQ(ops[1].peer, -1);
  EXPECT_EQ(ops[1].copy_from, 116);
}

TEST(InSequence, FirstOfEachKindWaitsForAllBefore) {
  const std::vector<Op> ops = all(in_sequence(
      listed({recv(1, kRange), send(2, kRange, 1)}),
      listed({send(3, kRange), recv_reduce(4, kRange), send(3, kRange), recv(4, kRange)})));
  ASSERT_EQ(ops.size(), 6u);
  EXPECT_EQ(ops[2].after, 1);
  EXPECT_EQ(ops[3].after, 2);
  EXPECT_EQ(ops[3].write_after, 2);
  EXPECT_EQ(ops[4].after, 0);
  EXPECT_EQ(ops[5].write_after, 0);
}

TEST(InSequence, AsksForNothingWhereNothingCameBefore) {
  const std::vector<Op> after_nothing =
      all(in_sequence(OpStream(), listed({send(1, kRange), recv(1, kRange)})));
  EXPECT_EQ(after_nothing[0].after, 0);
  EXPECT_EQ(after_nothing[1].write_after, 0);
  const std::vector<Op> after_send =
      all(in_sequence(listed({send(1, kRange)}), listed({send(1, kRange), recv(1, kRange)})));
  EXPECT_EQ(after_send[1].after, 0);
  EXPECT_EQ(after_send[2].write_after, 2);
}

TEST(InSequenceDeathTest, RefusesToLookBackTooFar) {
  const auto late_send = [] {
    std::vector<Op> ops(kLookback, recv_reduce(1, kRange));
    ops.push_back(send(1, kRange));
    all(in_sequence(listed({recv(1, kRange)}), listed(ops)));
  };
  EXPECT_DEATH(late_send(), "look back too far");
}

Op joined(Op op) {
  op.joins_next = true;
  return op;
}

TEST(WithJoined, AMessageHasTheBytesAndTheWaitsOfAllItsParts) {
  const std::vector<Op> messages = all(with_joined(listed({
      joined(recv(1, kRange)),
      recv(1, kRange),  // 0, 1
      send(2, kRange),  // 2
      recv(1, kRange),  // 3
      joined(send(2, kRange, 1)),
      send(2, kRange, 5),  // 4 waits for 3, 5 for 0
      joined(recv(1, kRange)),
      recv(1, kRange, 0, 5),  // 7 for the sends up to 2
      joined(send(2, kRange, 1)),
      joined(send(2, kRange)),
      send(2, kRange),
  })));
  ASSERT_EQ(messages.size(), 6u);
  const auto is = [&](size_t index, std::int64_t ranges, int after, int write_after) {
    EXPECT_EQ(messages[index].bytes, ranges * kRange.bytes) << index;
    EXPECT_EQ(messages[index].after, after) << index;
    EXPECT_EQ(messages[index].write_after, write_after) << index;
    EXPECT_FALSE(messages[index].joins_next) << index;
  };
  is(0, 2, 0, 0);
  is(1, 1, 0, 0);
  is(2, 1, 0, 0);
  is(3, 2, 1, 0);
  is(4, 2, 0, 3);
  is(5, 3, 1, 0);
}

TEST(WithJoined, LooksBackAsFarAsExecutorsDo) {
  std::vector<Op> ops(100, recv(1, kRange));
  ops.push_back(send(2, kRange, 90));
  EXPECT_EQ(all(with_joined(listed(ops))).back().after, kLookback);
}

TEST(WithJoinedDeathTest, PartsAreOfOneKindAndPeer) {
  const auto read = [](const Op& second) {
    all(with_joined(listed({joined(send(1, kRange)), second})));
  };
  EXPECT_DEATH(read(send(2, kRange)), "one kind, peer and queue");
  EXPECT_DEATH(read(recv(1, kRange)), "one kind, peer and queue");
  EXPECT_DEATH(all(with_joined(listed({joined(send(1, kRange))}))), "ends inside a message");
}

TEST(Names, OfOperations) {
  EXPECT_STREQ(name_of(OpKind::kSend), "send");
  EXPECT_STREQ(name_of(OpKind::kRecv), "recv");
  EXPECT_STREQ(name_of(OpKind::kRecvReduce), "recv_reduce");
  EXPECT_STREQ(name_of(OpKind::kCopy), "copy");
}

}  // namespace
}  // namespace forescale
