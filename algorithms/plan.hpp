// A plan: what one rank does in a collective, as a lazy stream of operations. Data, no time.
//
// Contract of a stream, kept by every plan and relied upon by every executor:
//  * Sends of a rank are posted in the order of the stream; so are its receives. The two orders
//    are independent of each other: a receive may complete before an earlier send.
//  * The k-th send from a to b matches the k-th receive of b from a, and both name the same byte
//    count. A send need not wait for its receiver's memory: every executor may use rendez-vous.
//  * `after = d` (d >= 1): the operation starts only when all receives and copies of this rank up
//    to and including the one d places earlier in the stream have completed; 0: no such wait.
//    Earlier sends do not count. d = 1 waits for everything received so far.
//  * `write_after = d`: the operation changes its bytes only when all sends of this rank up to and
//    including d places earlier have left their bytes. For recv_reduce only the reduction waits,
//    for recv and copy the whole operation. 0: nothing to wait for.
//  * Both distances may be cut to kLookback (cut_short()): that waits for more, never less.
//  * Later sends inherit the waits of earlier ones, later receives those of earlier ones, because
//    they are posted in order.
//  * `queue`: operations may be dealt into queues, as a library's threads share the work: each is
//    posted by itself, in its order, and 0 is the one of what is not dealt out. Then both distances
//    are about operations of the queue `awaits` only, and as they are; a send of queue q matches a
//    receive of queue q; waits are inherited inside a queue. An executor that knows of no queues
//    does as above: that waits for more, never less.
//  * `joins_next`: it is one message with the next operation of the stream, which has the same
//  kind,
//    peer and queues; the receiver joins the same. message_plan() of collective.hpp makes them one.
//    An executor that knows of no such messages sends each by itself, which is as right.
// Byte ranges are offsets into the rank's buffer of that collective (see collective.hpp).
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

namespace forescale {

inline constexpr int kLookback = 32;  // what an executor need remember, operations
inline constexpr int kQueuesMax = 5;  // one for what is not dealt out; two trees, up and down
// Queues of one channel of the library: a tree's two, up and down.
constexpr int channel_of_queue(int queue) { return (queue + 1) / 2; }

enum class OpKind : std::uint8_t { kSend, kRecv, kRecvReduce, kCopy };

struct Op {
  OpKind kind = OpKind::kSend;
  std::uint8_t queue = 0;   // below kQueuesMax
  std::uint8_t awaits = 0;  // the queue that both distances are about
  bool joins_next = false;
  std::int32_t peer = -1;   // the other rank; -1 for copy
  std::int64_t offset = 0;  // bytes; for copy: where to
  std::int64_t bytes = 0;
  std::int64_t copy_from = 0;  // copy only
  std::int32_t after = 0;
  std::int32_t write_after = 0;
};

const char* name_of(OpKind kind);

inline int cut_short(int distance) { return distance < kLookback ? distance : kLookback; }

// A lazy, move-only stream of operations: a coroutine that says `co_yield op`.
//   OpStream ring(...) { for (...) { co_yield send; co_yield recv; } }
//   while (stream.next()) use(stream.op());
// Parameters of the coroutine must be values (they live in its frame), never references.
class OpStream {
 public:
  struct promise_type {
    const Op* current = nullptr;  // in the frame of the suspended coroutine: no copy
    OpStream get_return_object() {
      return OpStream(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(const Op& op) noexcept {
      current = &op;
      return {};
    }
    void return_void() noexcept {}
    [[noreturn]] void unhandled_exception() { std::terminate(); }
  };

  OpStream() = default;
  OpStream(OpStream&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  OpStream& operator=(OpStream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  OpStream(const OpStream&) = delete;
  OpStream& operator=(const OpStream&) = delete;
  ~OpStream() {
    if (handle_) handle_.destroy();
  }

  // Computes the next operation; false when there is none.
  bool next() {
    if (!handle_ || handle_.done()) return false;
    handle_.resume();
    return !handle_.done();
  }
  // Valid after next() said true, until the following next().
  const Op& op() const { return *handle_.promise().current; }
  // True for a stream without a coroutine: a rank that has nothing to do.
  bool is_nothing() const { return !handle_; }

 private:
  explicit OpStream(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// The part of `total` bytes that belongs to block `index` of `count`: whole elements, the first
// blocks one element larger when it does not divide.
struct ByteRange {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};
ByteRange block_range(std::int64_t total_bytes, std::int64_t count, std::int64_t index,
                      std::int64_t element_bytes);

// The stream of a sub-group: peers renamed by `rank_of`, offsets shifted.
OpStream mapped(OpStream stream, std::function<int(int)> rank_of, std::int64_t offset_shift);

// Of every `operations` of it, in turn, the first `kept`.
OpStream first_of_each(OpStream stream, int operations, std::vector<int> kept);

// Each run of joined operations as the message that it is: all their bytes, and the waits of all.
OpStream with_joined(OpStream stream);

// `first`, then `second` whose first send, receive and copy wait for all that `first` received.
OpStream in_sequence(OpStream first, OpStream second);

}  // namespace forescale
