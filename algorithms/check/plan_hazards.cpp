// The part of plan_check.hpp that looks for unordered accesses of one rank to its own buffer.
//
// For every operation: up to which earlier position have all receives and copies completed, and up
// to which have all sends left their bytes, when it starts and when it writes. Taken from `after`,
// `write_after`, the order of posting, and from what those earlier operations waited for.
#include <fmt/format.h>

#include <algorithm>

#include "algorithms/check/plan_check.hpp"

namespace forescale {
namespace {

// Prefixes of the stream that are known to be complete; -1: nothing.
struct Known {
  std::int64_t received = -1;
  std::int64_t sent = -1;

  void merge(const Known& other) {
    received = std::max(received, other.received);
    sent = std::max(sent, other.sent);
  }
};

struct Knowledge {
  Known at_start;
  Known at_write;
};

class Ordering {
 public:
  // In the order of the stream.
  Knowledge next(const Op& op) {
    const auto position = static_cast<std::int64_t>(when_received_.size());
    const bool is_send = op.kind == OpKind::kSend;
    Known& posted_before = is_send ? last_send_ : last_receive_;
    Known start = op.kind == OpKind::kCopy ? Known{} : posted_before;
    if (op.after > 0) start.received = std::max(start.received, position - op.after);
    const std::int64_t sent = op.write_after > 0 ? position - op.write_after : -1;
    if (op.kind != OpKind::kRecvReduce) start.sent = std::max(start.sent, sent);
    close(start);
    if (op.kind != OpKind::kCopy) posted_before = start;

    Known write = start;
    if (op.kind == OpKind::kRecvReduce) {  // a rank's reductions take place one after the other
      write.merge(last_reduction_);
      write.sent = std::max(write.sent, sent);
      close(write);
      last_reduction_ = write;
    }
    remember(when_received_, is_send ? Known{} : write);
    remember(when_sent_, is_send ? start : Known{});
    return {.at_start = start, .at_write = write};
  }

 private:
  // What was complete when the operations of these prefixes were.
  void close(Known& known) const {
    const Known before = known;
    if (before.received >= 0)
      known.merge(when_received_[static_cast<std::size_t>(before.received)]);
    if (before.sent >= 0) known.merge(when_sent_[static_cast<std::size_t>(before.sent)]);
  }
  static void remember(std::vector<Known>& prefixes, Known known) {
    if (!prefixes.empty()) known.merge(prefixes.back());
    prefixes.push_back(known);
  }

  Known last_send_, last_receive_, last_reduction_;
  std::vector<Known> when_received_;  // [p]: known once receives and copies up to p are complete
  std::vector<Known> when_sent_;      // [p]: known once sends up to p are complete
};

// The last accesses to one cell, positions in the stream.
struct Cell {
  std::int64_t written = -1;      // by anything
  std::int64_t overwritten = -1;  // by receive or copy
  std::int64_t sent = -1;
  std::int64_t copied_from = -1;
};

// The earlier operation that `op` conflicts with on this cell; -1: none.
std::int64_t unordered_read(const Cell& cell, const Known& known) {
  return cell.written > known.received ? cell.written : -1;
}
std::int64_t unordered_write(const Cell& cell, const Known& known, OpKind kind) {
  const std::int64_t written = kind == OpKind::kRecvReduce ? cell.overwritten : cell.written;
  if (written > known.received) return written;
  if (cell.sent > known.sent) return cell.sent;
  return cell.copied_from > known.received ? cell.copied_from : -1;
}

class RankBuffer {
 public:
  RankBuffer(std::int64_t buffer_bytes, std::int64_t cell_bytes)
      : cell_bytes_(cell_bytes), cells_(static_cast<std::size_t>(buffer_bytes / cell_bytes)) {}

  // Records the accesses of `op`; returns the earlier operation it conflicts with, or -1.
  std::int64_t access(const Op& op, std::int64_t position, const Knowledge& knowledge) {
    std::int64_t conflict = -1;
    if (op.kind == OpKind::kSend || op.kind == OpKind::kCopy)
      for (Cell& cell : range(op.kind == OpKind::kSend ? op.offset : op.copy_from, op.bytes)) {
        conflict = std::max(conflict, unordered_read(cell, knowledge.at_start));
        (op.kind == OpKind::kSend ? cell.sent : cell.copied_from) = position;
      }
    if (op.kind == OpKind::kSend) return conflict;
    for (Cell& cell : range(op.offset, op.bytes)) {
      if (cell.copied_from == position) cell.copied_from = -1;  // a copy onto itself
      conflict = std::max(conflict, unordered_write(cell, knowledge.at_write, op.kind));
      cell.written = position;
      if (op.kind != OpKind::kRecvReduce) cell.overwritten = position;
    }
    return conflict;
  }

 private:
  struct Range {
    Cell* first;
    Cell* last;
    Cell* begin() const { return first; }
    Cell* end() const { return last; }
  };
  Range range(std::int64_t offset, std::int64_t bytes) {
    return {cells_.data() + offset / cell_bytes_, cells_.data() + (offset + bytes) / cell_bytes_};
  }

  std::int64_t cell_bytes_;
  std::vector<Cell> cells_;
};

}  // namespace

std::vector<std::string> check_hazards(const PlanCase& plan) {
  std::vector<std::string> problems;
  for (int rank = 0; rank < plan.call.rank_count; ++rank) {
    const std::vector<Op>& ops = plan.ops[static_cast<std::size_t>(rank)];
    RankBuffer buffer(buffer_bytes(plan.op, plan.call, rank), plan.cell_bytes);
    Ordering ordering;
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

}  // namespace forescale
