// The part of plan_check.hpp that looks for unordered accesses of one rank to its own buffer.
//
// For every operation: up to which earlier position have all receives and copies completed, and up
// to which have all sends left their bytes, when it starts and when it writes. Taken from `after`,
// `write_after`, the order of posting, and from what those earlier operations waited for.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "algorithms/check/plan_check.hpp"

namespace forescale {
namespace {

// Prefixes of the stream of whose operations in each queue it is known that they are complete; -1:
// nothing. With one queue every operation is in it.
template <int kQueues>
struct Known {
  using Places = std::array<std::int64_t, static_cast<std::size_t>(kQueues)>;
  static Places nothing() {
    Places places;
    places.fill(-1);
    return places;
  }
  Places received = nothing();
  Places sent = nothing();

  void merge(const Known& other) {
    for (std::size_t queue = 0; queue < received.size(); ++queue) {
      received[queue] = std::max(received[queue], other.received[queue]);
      sent[queue] = std::max(sent[queue], other.sent[queue]);
    }
  }
};

template <int kQueues>
std::size_t number_of(std::uint8_t queue) {
  return kQueues == 1 ? 0 : queue;
}

template <int kQueues>
struct Knowledge {
  Known<kQueues> at_start;
  Known<kQueues> at_write;
};

template <int kQueues>
class Ordering {
 public:
  // In the order of the stream.
  Knowledge<kQueues> next(const Op& op) {
    Queue& own = queues_[number_of<kQueues>(op.queue)];
    const std::size_t awaited = number_of<kQueues>(op.awaits);
    const std::int64_t position = position_++;
    const bool is_send = op.kind == OpKind::kSend;
    Prefix& posted_before = is_send ? own.last_send : own.last_receive;
    Prefix start = op.kind == OpKind::kCopy ? Prefix{} : posted_before;
    const auto raise = [position](std::int64_t& known, int distance) {
      if (distance > 0) known = std::max(known, position - distance);
    };
    raise(start.received[awaited], op.after);
    if (op.kind != OpKind::kRecvReduce) raise(start.sent[awaited], op.write_after);
    close(start);
    if (op.kind != OpKind::kCopy) posted_before = start;

    Prefix write = start;
    if (op.kind == OpKind::kRecvReduce) {  // a queue's reductions take place one after the other
      write.merge(own.last_reduction);
      raise(write.sent[awaited], op.write_after);
      close(write);
      own.last_reduction = write;
    }
    for (Queue& queue : queues_) {
      remember(queue.when_received, &queue == &own && !is_send ? write : Prefix{});
      remember(queue.when_sent, &queue == &own && is_send ? start : Prefix{});
    }
    return {.at_start = start, .at_write = write};
  }

 private:
  using Prefix = Known<kQueues>;
  struct Queue {
    Prefix last_send, last_receive, last_reduction;
    std::vector<Prefix> when_received;  // [p]: known once its receives and copies up to p are done
    std::vector<Prefix> when_sent;      // [p]: known once its sends up to p are
  };

  // What was complete when the operations of these prefixes were.
  void close(Prefix& known) const {
    const Prefix before = known;
    for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
      if (before.received[queue] >= 0)
        known.merge(queues_[queue].when_received[static_cast<std::size_t>(before.received[queue])]);
      if (before.sent[queue] >= 0)
        known.merge(queues_[queue].when_sent[static_cast<std::size_t>(before.sent[queue])]);
    }
  }
  static void remember(std::vector<Prefix>& prefixes, Prefix known) {
    if (!prefixes.empty()) known.merge(prefixes.back());
    prefixes.push_back(known);
  }

  std::array<Queue, static_cast<std::size_t>(kQueues)> queues_;
  std::int64_t position_ = 0;
};

// The last accesses to one cell, positions in the stream: in each queue.
template <int kQueues>
struct Cell {
  using Places = typename Known<kQueues>::Places;
  Places written = Known<kQueues>::nothing();      // by anything
  Places overwritten = Known<kQueues>::nothing();  // by receive or copy
  Places sent = Known<kQueues>::nothing();
  Places copied_from = Known<kQueues>::nothing();
};

// The last of these operations that is not known to be complete; -1: none.
template <class Places>
std::int64_t unordered(const Places& places, const Places& known) {
  std::int64_t last = -1;
  for (std::size_t queue = 0; queue < places.size(); ++queue)
    if (places[queue] > known[queue]) last = std::max(last, places[queue]);
  return last;
}

template <int kQueues>
class RankBuffer {
 public:
  RankBuffer(std::int64_t buffer_bytes, std::int64_t cell_bytes)
      : cell_bytes_(cell_bytes), cells_(static_cast<std::size_t>(buffer_bytes / cell_bytes)) {}

  // Records the accesses of `op`; returns the earlier operation it conflicts with, or -1.
  std::int64_t access(const Op& op, std::int64_t position, const Knowledge<kQueues>& knowledge) {
    const std::size_t queue = number_of<kQueues>(op.queue);
    std::int64_t conflict = -1;
    if (op.kind == OpKind::kSend || op.kind == OpKind::kCopy)
      for (One& cell : range(op.kind == OpKind::kSend ? op.offset : op.copy_from, op.bytes)) {
        conflict = std::max(conflict, unordered(cell.written, knowledge.at_start.received));
        (op.kind == OpKind::kSend ? cell.sent : cell.copied_from)[queue] = position;
      }
    if (op.kind == OpKind::kSend) return conflict;
    for (One& cell : range(op.offset, op.bytes)) {
      if (cell.copied_from[queue] == position) cell.copied_from[queue] = -1;  // onto itself
      conflict = std::max(conflict, unordered_write(cell, knowledge.at_write, op.kind));
      cell.written[queue] = position;
      if (op.kind != OpKind::kRecvReduce) cell.overwritten[queue] = position;
    }
    return conflict;
  }

 private:
  using One = Cell<kQueues>;
  static std::int64_t unordered_write(const One& cell, const Known<kQueues>& known, OpKind kind) {
    const auto& written = kind == OpKind::kRecvReduce ? cell.overwritten : cell.written;
    if (const auto last = unordered(written, known.received); last >= 0) return last;
    if (const auto last = unordered(cell.sent, known.sent); last >= 0) return last;
    return unordered(cell.copied_from, known.received);
  }
  struct Range {
    One* first;
    One* last;
    One* begin() const { return first; }
    One* end() const { return last; }
  };
  Range range(std::int64_t offset, std::int64_t bytes) {
    return {cells_.data() + offset / cell_bytes_, cells_.data() + (offset + bytes) / cell_bytes_};
  }

  std::int64_t cell_bytes_;
  std::vector<One> cells_;
};

template <int kQueues>
std::vector<std::string> hazards(const PlanCase& plan) {
  std::vector<std::string> problems;
  for (int rank = 0; rank < plan.call.rank_count; ++rank) {
    const std::vector<Op>& ops = plan.ops[static_cast<std::size_t>(rank)];
    RankBuffer<kQueues> buffer(buffer_bytes(plan.op, plan.call, rank), plan.cell_bytes);
    Ordering<kQueues> ordering;
    for (std::size_t position = 0; position < ops.size(); ++position) {
      const Op& op = ops[position];
      const std::int64_t conflict =
          buffer.access(op, static_cast<std::int64_t>(position), ordering.next(op));
      if (conflict < 0) continue;
      const auto earlier = static_cast<std::size_t>(conflict);
      problems.push_back(
          fmt::format("rank {} does not wait for its own {} before it touches the same bytes: {}",
                      rank, describe(ops[earlier], earlier), describe(op, position)));
      break;
    }
  }
  return problems;
}

bool has_queues(const PlanCase& plan) {
  return std::any_of(plan.ops.begin(), plan.ops.end(), [](const std::vector<Op>& ops) {
    return std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.queue > 0; });
  });
}

}  // namespace

// As an executor goes on that knows of no queues, and as one that posts each by itself.
std::vector<std::string> check_hazards(const PlanCase& plan) {
  std::vector<std::string> problems = hazards<1>(plan);
  if (problems.empty() && has_queues(plan)) problems = hazards<kQueuesMax>(plan);
  return problems;
}

}  // namespace forescale
