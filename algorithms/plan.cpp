#include "algorithms/plan.hpp"

#include <algorithm>

#include "algorithms/pieces/plan_pieces.hpp"
#include "base/error.hpp"

namespace forescale {

const char* name_of(OpKind kind) {
  switch (kind) {
    case OpKind::kSend:
      return "send";
    case OpKind::kRecv:
      return "recv";
    case OpKind::kRecvReduce:
      return "recv_reduce";
    case OpKind::kCopy:
      return "copy";
  }
  FORESCALE_CHECK(false, "unknown operation kind");
}

ByteRange block_range(std::int64_t total_bytes, std::int64_t count, std::int64_t index,
                      std::int64_t element_bytes) {
  return Blocks({.offset = 0, .bytes = total_bytes}, count, element_bytes).at(index);
}

OpStream mapped(OpStream stream, std::function<int(int)> rank_of, std::int64_t offset_shift) {
  while (stream.next()) {
    Op op = stream.op();
    if (op.kind != OpKind::kCopy) op.peer = rank_of(op.peer);
    op.offset += offset_shift;
    op.copy_from += offset_shift;
    co_yield op;
  }
}

namespace {

// Makes the first send, receive and copy of a stream wait for what came before it. Distances that
// an operation already has reach at most as far back as that, so they wait for more: kept.
class SequenceWaits {
 public:
  void saw_first(const Op& op) {
    (op.kind == OpKind::kSend ? first_sent_ : first_received_) = true;
  }

  void add_to(Op& op) {
    ++position_;
    bool& waited = waited_[queue_of(op.kind)];
    if (waited) return;
    waited = true;
    if (first_received_ && op.after == 0) op.after = checked(position_);
    if (first_sent_ && op.kind != OpKind::kSend && op.write_after == 0)
      op.write_after = checked(position_);
  }

 private:
  static int queue_of(OpKind kind) {
    return kind == OpKind::kSend ? 0 : kind == OpKind::kCopy ? 1 : 2;
  }
  static std::int32_t checked(std::int64_t distance) {
    FORESCALE_CHECK(distance <= kLookback, "in_sequence would look back too far");
    return static_cast<std::int32_t>(distance);
  }

  bool first_sent_ = false;
  bool first_received_ = false;
  bool waited_[3] = {false, false, false};
  std::int64_t position_ = 0;  // distance of the current operation to the end of the first stream
};

OpStream both(OpStream first, OpStream second) {
  SequenceWaits waits;
  while (first.next()) {
    waits.saw_first(first.op());
    co_yield first.op();
  }
  while (second.next()) {
    Op op = second.op();
    waits.add_to(op);
    co_yield op;
  }
}

}  // namespace

OpStream first_of_each(OpStream stream, int operations, std::vector<int> kept) {
  for (const int count : kept)
    for (int i = 0; i < operations && stream.next(); ++i)
      if (i < count) co_yield stream.op();
}

namespace {

// Where messages began in the stream of operations: as far back as an executor looks.
class MessagePlaces {
 public:
  void add(std::int64_t place) { begins_[index(count_++)] = place; }

  // How many messages before the next one that is which has the operation at `place`; 0: none.
  std::int32_t distance_to(std::int64_t place) const {
    if (place < 0) return 0;
    const std::int64_t kept = std::min<std::int64_t>(count_, kLookback);
    for (std::int64_t distance = 1; distance <= kept; ++distance)
      if (begins_[index(count_ - distance)] <= place) return static_cast<std::int32_t>(distance);
    return static_cast<std::int32_t>(kept);
  }

 private:
  static std::size_t index(std::int64_t message) {
    return static_cast<std::size_t>(message % kLookback);
  }

  std::int64_t begins_[kLookback] = {};
  std::int64_t count_ = 0;
};

}  // namespace

OpStream with_joined(OpStream stream) {
  constexpr std::int64_t kNothing = -1;
  MessagePlaces places;
  for (std::int64_t place = 0; stream.next();) {
    const std::int64_t begin = place;
    Op message = stream.op();
    message.bytes = 0;
    std::int64_t received = kNothing;  // the last operation that it waits for
    std::int64_t sent = kNothing;
    for (bool is_more = true; is_more; ++place) {
      const Op& part = stream.op();
      FORESCALE_CHECK(part.kind == message.kind && part.peer == message.peer &&
                          part.queue == message.queue && part.awaits == message.awaits,
                      "joined operations are of one kind, peer and queue");
      message.bytes += part.bytes;
      if (part.after > 0) received = std::max(received, place - part.after);
      if (part.write_after > 0) sent = std::max(sent, place - part.write_after);
      is_more = part.joins_next;
      FORESCALE_CHECK(!is_more || stream.next(), "a plan ends inside a message");
    }
    message.joins_next = false;
    message.after = places.distance_to(received);
    message.write_after = places.distance_to(sent);
    places.add(begin);
    co_yield message;
  }
}

OpStream in_sequence(OpStream first, OpStream second) {
  if (first.is_nothing()) return second;
  if (second.is_nothing()) return first;
  return both(std::move(first), std::move(second));
}

}  // namespace forescale
