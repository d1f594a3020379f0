// The part of plan_check.hpp that executes a plan on symbols and compares with the contract.
//
// Rendez-vous: a message moves when the sender's next send and the receiver's next receive are each
// other's and both have what they wait for. The order in which ready messages are taken does not
// matter, because each rank's next send and next receive are fixed.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "algorithms/check/plan_check.hpp"
#include "algorithms/check/plan_contract.hpp"

namespace forescale {
namespace {

// One rank on its way through its stream.
struct RankState {
  const std::vector<Op>* ops = nullptr;
  SymbolicValues buffer;
  std::vector<bool> done;
  std::size_t next_send = 0;     // position of the first send not done; ops->size(): none
  std::size_t next_receive = 0;  // the same for receives
  std::size_t received = 0;      // all receives and copies before this position are done
  std::size_t sent = 0;          // all sends before it are done
  std::vector<std::size_t> copies;
  std::optional<SymbolicValues>
      arrived;  // for the recv_reduce at next_receive, which waits to add it

  bool is_send(std::size_t position) const { return (*ops)[position].kind == OpKind::kSend; }
  bool is_copy(std::size_t position) const { return (*ops)[position].kind == OpKind::kCopy; }

  bool may_start(std::size_t position) const {
    const Op& op = (*ops)[position];
    const bool has_received =
        op.after == 0 || received > position - static_cast<std::size_t>(cut_short(op.after));
    return has_received && (op.kind == OpKind::kRecvReduce || may_write(position));
  }
  bool may_write(std::size_t position) const {
    const Op& op = (*ops)[position];
    return op.write_after == 0 ||
           sent > position - static_cast<std::size_t>(cut_short(op.write_after));
  }
  void finish(std::size_t position) {
    done[position] = true;
    advance();
  }
  void advance() {
    const std::size_t end = ops->size();
    while (next_send < end && (!is_send(next_send) || done[next_send])) ++next_send;
    while (next_receive < end &&
           (is_send(next_receive) || is_copy(next_receive) || done[next_receive]))
      ++next_receive;
    while (received < end && (is_send(received) || done[received])) ++received;
    while (sent < end && (!is_send(sent) || done[sent])) ++sent;
  }
};

class SymbolicRun {
 public:
  explicit SymbolicRun(const PlanCase& plan) : plan_(plan), contract_(plan) {
    for (int rank = 0; rank < plan.call.rank_count; ++rank) {
      RankState& state = ranks_.emplace_back();
      state.ops = &plan.ops[static_cast<std::size_t>(rank)];
      state.done.resize(state.ops->size());
      for (std::int64_t cell = 0; cell < contract_.cells(rank); ++cell)
        state.buffer.push_back(contract_.before(rank, cell));
      for (std::size_t position = 0; position < state.ops->size(); ++position)
        if (state.is_copy(position)) state.copies.push_back(position);
      state.advance();
    }
  }

  std::vector<std::string> run() {
    std::vector<int> active;
    for (int rank = 0; rank < plan_.call.rank_count; ++rank) active.push_back(rank);
    while (!active.empty()) {
      const int rank = active.back();
      active.pop_back();
      const int peer = progress(rank);
      if (peer == kNoProgress) continue;
      active.push_back(rank);
      if (peer != rank) active.push_back(peer);
    }
    report_stuck();
    if (problems_.empty()) compare();
    return problems_;
  }

 private:
  static constexpr int kNoProgress = -1;

  RankState& state_of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  // One step of `rank`: returns the other rank that took part, itself for a local step.
  int progress(int rank) {
    RankState& state = state_of(rank);
    if (local_step(rank, state)) return rank;
    if (state.next_send < state.ops->size()) {
      const int receiver = (*state.ops)[state.next_send].peer;
      if (transfer(rank, receiver)) return receiver;
    }
    if (state.next_receive < state.ops->size()) {
      const int sender = (*state.ops)[state.next_receive].peer;
      if (transfer(sender, rank)) return sender;
    }
    return kNoProgress;
  }

  bool local_step(int rank, RankState& state) {
    if (state.arrived && state.may_write(state.next_receive)) {
      add(rank, state);
      return true;
    }
    for (const std::size_t position : state.copies) {
      if (state.done[position] || !state.may_start(position)) continue;
      const Op& op = (*state.ops)[position];
      write(state, op, read(state, op.copy_from, op.bytes));
      state.finish(position);
      return true;
    }
    return false;
  }

  bool transfer(int sender, int receiver) {
    RankState& from = state_of(sender);
    RankState& to = state_of(receiver);
    if (from.next_send >= from.ops->size() || to.next_receive >= to.ops->size() || to.arrived)
      return false;
    const std::size_t receive_position = to.next_receive;
    const Op& out = (*from.ops)[from.next_send];
    const Op& in = (*to.ops)[receive_position];
    if (out.peer != receiver || in.peer != sender || !from.may_start(from.next_send) ||
        !to.may_start(receive_position))
      return false;
    SymbolicValues values = read(from, out.offset, out.bytes);
    values.resize(static_cast<std::size_t>(in.bytes / plan_.cell_bytes));  // reported as mismatch
    if (in.kind == OpKind::kRecvReduce) {
      to.arrived = std::move(values);
    } else {
      write(to, in, values);
      to.finish(receive_position);
    }
    from.finish(from.next_send);
    return true;
  }

  SymbolicValues read(const RankState& state, std::int64_t offset, std::int64_t bytes) const {
    const auto first = state.buffer.begin() + offset / plan_.cell_bytes;
    return SymbolicValues(first, first + bytes / plan_.cell_bytes);
  }
  void write(RankState& state, const Op& op, const SymbolicValues& values) const {
    std::copy(values.begin(), values.end(), state.buffer.begin() + op.offset / plan_.cell_bytes);
  }

  // The reduction of the message that has arrived.
  void add(int rank, RankState& state) {
    const std::size_t position = state.next_receive;
    const Op& op = (*state.ops)[position];
    bool reported = false;
    for (std::size_t index = 0; index < state.arrived->size(); ++index) {
      SymbolicValue& sum =
          state.buffer[static_cast<std::size_t>(op.offset / plan_.cell_bytes) + index];
      const SymbolicValue& term = (*state.arrived)[index];
      if (sum.element == term.element && (sum.ranks & term.ranks).none()) {
        sum.ranks |= term.ranks;
        continue;
      }
      if (!reported)
        problems_.push_back(fmt::format("rank {} adds what it must not, {} to {}: {}", rank,
                                        to_text(term), to_text(sum), describe(op, position)));
      reported = true;
      sum = SymbolicValue{};
    }
    state.arrived.reset();
    state.finish(position);
  }

  void report_stuck() {
    for (int rank = 0; rank < plan_.call.rank_count; ++rank) {
      const RankState& state = state_of(rank);
      for (const std::size_t position : {state.next_send, state.next_receive}) {
        if (position >= state.ops->size()) continue;
        const bool own = !state.may_start(position) || (state.arrived && !state.is_send(position));
        problems_.push_back(fmt::format("rank {} waits to {}{}", rank,
                                        describe((*state.ops)[position], position),
                                        own ? ", and for its own operations before that" : ""));
      }
      for (const std::size_t position : state.copies)
        if (!state.done[position])
          problems_.push_back(
              fmt::format("rank {} waits to {}", rank, describe((*state.ops)[position], position)));
    }
  }

  void compare() {
    for (int rank = 0; rank < plan_.call.rank_count; ++rank)
      for (std::int64_t cell = 0; cell < contract_.cells(rank); ++cell) {
        const std::optional<SymbolicValue> expected = contract_.after(rank, cell);
        const SymbolicValue& found = state_of(rank).buffer[static_cast<std::size_t>(cell)];
        if (!expected || *expected == found) continue;
        problems_.push_back(fmt::format("rank {} ends with {} at element {}, not {}", rank,
                                        to_text(found), cell, to_text(*expected)));
        break;
      }
  }

  const PlanCase& plan_;
  CollectiveContract contract_;
  std::vector<RankState> ranks_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_delivery(const PlanCase& plan) { return SymbolicRun(plan).run(); }

}  // namespace forescale
