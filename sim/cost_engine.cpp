#include "sim/cost_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/error.hpp"

namespace forescale {
namespace {

constexpr int kWindow = 16;       // operations read ahead of the slower direction, at first
constexpr int kWideWindow = 4096;  // when a plan needs more
constexpr int kHistory = 2 * kLookback;  // done-times kept for `after` and `write_after`
static_assert(kWindow + kLookback <= kHistory);
static_assert((kHistory & (kHistory - 1)) == 0);

struct PairTimes {
  double hold_s = 0;
  double move_s = 0;
  double o_recv_s = 0;
  double deliver_s = 0;
};

// All pairs alike.
struct UniformTimes {
  StepCost step;
  PairTimes pair(int, int, std::int64_t bytes) const {
    return {.hold_s = step.alpha_s,
            .move_s = step.beta_s_per_byte * static_cast<double>(bytes),
            .o_recv_s = 0,
            .deliver_s = 0};
  }
  double reduce_s(std::int64_t bytes) const { return step.reduce_s(bytes); }
  bool overlaps() const { return step.reduction_overlaps; }
  bool is_eager(std::int64_t) const { return false; }
  double eager_copy_s(std::int64_t) const { return 0; }
};

struct LaneTimes {
  const Lanes& lanes;
  BufferPlace place;
  PairTimes pair(int from, int to, std::int64_t bytes) const {
    const LaneCost cost = lanes.cost(lanes.lane(from, to, place, bytes), bytes);
    return {.hold_s = cost.hold_s,
            .move_s = static_cast<double>(bytes) / cost.bandwidth_bytes_per_s,
            .o_recv_s = cost.o_recv_s,
            .deliver_s = cost.deliver_s};
  }
  double reduce_s(std::int64_t bytes) const { return lanes.reduce_s(bytes, place); }
  bool overlaps() const { return lanes.reduction(place).overlaps_transfer; }
  bool is_eager(std::int64_t bytes) const { return lanes.is_eager(bytes); }
  double eager_copy_s(std::int64_t bytes) const { return lanes.eager_copy_s(bytes); }
};

// Times by which all receives (or sends) up to a place in the stream are done: the newest ones.
class DoneTimes {
 public:
  void push(std::int64_t index, double done_s) {
    // Places of the other direction in between inherit the time before them.
    while (count_ < index) slot(count_++) = last_;
    last_ = std::max(last_, done_s);
    slot(count_++) = last_;
  }
  double up_to(std::int64_t index) const {
    if (index >= count_) return last_;
    if (index < count_ - kHistory) return slot(count_);  // the oldest kept: never earlier
    return slot(index);
  }

 private:
  double& slot(std::int64_t index) { return times_[index & (kHistory - 1)]; }
  const double& slot(std::int64_t index) const { return times_[index & (kHistory - 1)]; }
  double times_[kHistory] = {};
  double last_ = 0;
  std::int64_t count_ = 0;
};

struct EagerArrival {
  int source = 0;
  double ready_s = 0;
};

// One rank: a window over its stream with a cursor for each direction.
struct RankState {
  OpStream stream;
  Op* window = nullptr;
  std::int64_t base = 0;  // place of the oldest operation kept
  std::int64_t end = 0;   // place after the newest
  std::int64_t next_send = 0;
  std::int64_t next_receive = 0;
  double send_free_s = 0;
  double receive_free_s = 0;
  double reduce_free_s = 0;
  double finished_s = 0;
  // The receive at next_receive has arrived; its reduction may still wait for a send.
  bool arrived = false;
  double port_free_s = 0;
  double delivered_s = 0;
  bool ended = false;
  bool queued = false;
  DoneTimes received;
  DoneTimes sent;
  std::vector<EagerArrival> eager;
};

template <class Times>
class Engine {
 public:
  Engine(const Collective& collective, const CollectiveCall& call, Times times, int window)
      : times_(times),
        window_(window),
        ranks_(static_cast<size_t>(call.rank_count)),
        windows_(static_cast<size_t>(call.rank_count) * static_cast<size_t>(window)) {
    for (int rank = 0; rank < call.rank_count; ++rank) {
      at(rank).stream = collective.plan(call, rank);
      at(rank).window = windows_.data() + static_cast<size_t>(rank) * static_cast<size_t>(window);
      enqueue(rank);
    }
  }

  // False when the plan stalled, perhaps because the window is too small.
  bool run(CostResult& result) {
    while (head_ < queue_.size()) {
      const int rank = queue_[head_++];
      if (head_ == kCompact) {  // first in, first out; drop the consumed part now and then
        queue_.erase(queue_.begin(), queue_.begin() + static_cast<long>(head_));
        head_ = 0;
      }
      at(rank).queued = false;
      current_ = rank;
      while (try_send(rank) || try_receive(rank)) {
      }
    }
    for (RankState& state : ranks_) {
      if (seek(state, state.next_send, true) || seek(state, state.next_receive, false) ||
          !state.ended)
        return false;
      result_.time_s = std::max(result_.time_s, state.finished_s);
    }
    result = result_;
    return true;
  }

 private:
  static constexpr size_t kCompact = 1 << 16;

  RankState& at(int rank) { return ranks_[static_cast<size_t>(rank)]; }
  Op& op_at(RankState& state, std::int64_t index) { return state.window[index & (window_ - 1)]; }

  void enqueue(int rank) {
    RankState& state = at(rank);
    if (state.queued || rank == current_) return;
    state.queued = true;
    queue_.push_back(rank);
  }

  // Moves a cursor to the next operation of its direction; false: none known yet.
  bool seek(RankState& state, std::int64_t& cursor, bool sends) {
    for (;; ++cursor) {
      while (cursor >= state.end) {
        state.base = std::min(state.next_send, state.next_receive);
        if (state.ended || state.end - state.base >= window_) return false;
        // As many as fit: a coroutine's frame is cold by the time it is asked again.
        while (state.end - state.base < window_ && !state.ended) {
          if (state.stream.next())
            op_at(state, state.end++) = state.stream.op();
          else
            state.ended = true;
        }
      }
      if ((op_at(state, cursor).kind == OpKind::kSend) == sends) return true;
    }
  }

  // No unprocessed operation of that direction lies at or before place `last`.
  bool all_done(RankState& state, std::int64_t last, bool sends) {
    for (std::int64_t i = sends ? state.next_send : state.next_receive; i <= last; ++i)
      if ((op_at(state, i).kind == OpKind::kSend) == sends) return false;
    return true;
  }

  // When the waits of the operation at a cursor are over; negative: not known yet.
  double ready_s(RankState& state, std::int64_t index, bool sends) {
    const Op& op = op_at(state, index);
    double ready = sends ? state.send_free_s : state.receive_free_s;
    if (op.after > 0) {
      if (!all_done(state, index - op.after, false)) return -1;
      ready = std::max(ready, state.received.up_to(index - op.after));
    }
    if (!sends && op.write_after > 0 && op.kind != OpKind::kRecvReduce) {
      if (!all_done(state, index - op.write_after, true)) return -1;
      ready = std::max(ready, state.sent.up_to(index - op.write_after));
    }
    return ready;
  }

  bool try_send(int rank) {
    RankState& state = at(rank);
    if (!seek(state, state.next_send, true)) return false;
    const Op& op = op_at(state, state.next_send);
    if (times_.is_eager(op.bytes)) return send_eagerly(rank, op);
    // Own waits first: the other rank's state is likely cold.
    const double send_ready = ready_s(state, state.next_send, true);
    if (send_ready < 0) return false;
    RankState& peer = at(op.peer);
    if (peer.arrived || !seek(peer, peer.next_receive, false)) return false;
    if (op_at(peer, peer.next_receive).peer != rank) return false;
    const double receive_ready = ready_s(peer, peer.next_receive, false);
    return receive_ready >= 0 && meet(rank, op.peer, std::max(send_ready, receive_ready));
  }

  bool try_receive(int rank) {
    RankState& state = at(rank);
    if (state.arrived || !seek(state, state.next_receive, false)) return false;
    const Op& op = op_at(state, state.next_receive);
    if (op.kind == OpKind::kCopy) {
      const double ready = ready_s(state, state.next_receive, false);
      if (ready >= 0) received(state, ready, ready);
      return ready >= 0;
    }
    if (times_.is_eager(op.bytes)) return receive_eagerly(rank, op);
    const double receive_ready = ready_s(state, state.next_receive, false);
    if (receive_ready < 0) return false;
    RankState& peer = at(op.peer);
    if (!seek(peer, peer.next_send, true)) return false;
    if (op_at(peer, peer.next_send).peer != rank) return false;
    const double send_ready = ready_s(peer, peer.next_send, true);
    return send_ready >= 0 && meet(op.peer, rank, std::max(send_ready, receive_ready));
  }

  // The heads of two ranks match: rendez-vous.
  bool meet(int source, int destination, double begin_s) {
    RankState& from = at(source);
    RankState& to = at(destination);
    const Op& op = op_at(from, from.next_send);
    FORESCALE_CHECK(op.bytes == op_at(to, to.next_receive).bytes, "a message with two sizes");
    const PairTimes times = times_.pair(source, destination, op.bytes);
    const double end_s = begin_s + times.hold_s + times.move_s;
    arrive(to, end_s + times.o_recv_s, end_s + times.o_recv_s + times.deliver_s);
    result_.bytes_sent += static_cast<double>(op.bytes);
    sent(from, end_s);
    settle(from);
    settle(to);
    enqueue(source);
    enqueue(destination);
    return true;
  }

  void arrive(RankState& to, double port_free_s, double delivered_s) {
    to.arrived = true;
    to.port_free_s = port_free_s;
    to.delivered_s = delivered_s;
  }

  // Finishes an arrived receive once the sends that its reduction must spare are known.
  void settle(RankState& state) {
    if (!state.arrived) return;
    const Op& op = op_at(state, state.next_receive);
    if (op.kind != OpKind::kRecvReduce) {
      received(state, state.port_free_s, state.delivered_s);
      return;
    }
    double begin_s = std::max(state.delivered_s, state.reduce_free_s);
    if (op.write_after > 0) {
      const std::int64_t last = state.next_receive - op.write_after;
      if (!all_done(state, last, true)) return;
      begin_s = std::max(begin_s, state.sent.up_to(last));
    }
    const double done_s = begin_s + times_.reduce_s(op.bytes);
    state.reduce_free_s = done_s;
    received(state, times_.overlaps() ? state.port_free_s : done_s, done_s);
  }

  bool send_eagerly(int source, const Op& op) {
    RankState& from = at(source);
    const double ready = ready_s(from, from.next_send, true);
    if (ready < 0) return false;
    const int destination = op.peer;
    const PairTimes times = times_.pair(source, destination, op.bytes);
    const double left_s = ready + times.hold_s + times_.eager_copy_s(op.bytes);
    at(destination).eager.push_back(
        {.source = source, .ready_s = left_s + times.move_s + times.deliver_s});
    result_.bytes_sent += static_cast<double>(op.bytes);
    sent(from, left_s);
    settle(from);
    enqueue(source);
    enqueue(destination);
    return true;
  }

  bool receive_eagerly(int rank, const Op& op) {
    RankState& state = at(rank);
    const auto arrival =
        std::find_if(state.eager.begin(), state.eager.end(),
                     [&](const EagerArrival& a) { return a.source == op.peer; });
    if (arrival == state.eager.end()) return false;
    const double ready = ready_s(state, state.next_receive, false);
    if (ready < 0) return false;
    const double there_s = std::max(ready, arrival->ready_s) +
                           times_.pair(op.peer, rank, op.bytes).o_recv_s +
                           times_.eager_copy_s(op.bytes);
    state.eager.erase(arrival);
    arrive(state, there_s, there_s);
    settle(state);
    return true;
  }

  void sent(RankState& state, double done_s) {
    state.sent.push(state.next_send++, done_s);
    state.send_free_s = done_s;
    state.finished_s = std::max(state.finished_s, done_s);
    ++result_.operations;
    ++result_.messages;
  }

  void received(RankState& state, double port_free_s, double done_s) {
    state.arrived = false;
    state.received.push(state.next_receive++, done_s);
    state.receive_free_s = port_free_s;
    state.finished_s = std::max(state.finished_s, done_s);
    ++result_.operations;
  }

  Times times_;
  int window_;
  std::vector<RankState> ranks_;
  std::vector<Op> windows_;
  std::vector<int> queue_;
  size_t head_ = 0;
  int current_ = -1;  // the rank being advanced: it goes on by itself
  CostResult result_;
};

template <class Times>
CostResult evaluate(const Collective& collective, const CollectiveCall& call, Times times) {
  CostResult result;
  for (const int window : {kWindow, kWideWindow})
    if (Engine(collective, call, times, window).run(result)) return result;
  throw SimulationStuck("the plan of " + collective.name + " cannot finish");
}

}  // namespace

CostResult evaluate_cost(const Collective& collective, const CollectiveCall& call,
                         const StepCost& step) {
  return evaluate(collective, call, UniformTimes{step});
}

CostResult evaluate_cost(const Collective& collective, const CollectiveCall& call,
                         const Lanes& lanes, BufferPlace place) {
  if (const auto step = uniform_step(lanes, call.rank_count, place))
    return evaluate_cost(collective, call, *step);
  return evaluate(collective, call, LaneTimes{lanes, place});
}

std::optional<StepCost> uniform_step(const Lanes& lanes, int rank_count, BufferPlace place) {
  const Stack& stack = lanes.stack();
  const Platform& platform = lanes.platform();
  const bool papers_alpha = stack.latency_holds_ports && stack.eager_limit.value == 0 &&
                            stack.paths.size() <= 2 && stack.channels == 1;
  if (!papers_alpha || !platform.uniform_pairs || rank_count < 2) return std::nullopt;
  const Lane& lane = lanes.lane(0, 1, place, 1);
  const LaneCost cost = lanes.cost(lane, 1);
  if (!lane.stage_bandwidths.empty() || cost.o_recv_s > 0 || cost.deliver_s > 0)
    return std::nullopt;
  const ReductionRule& reduction = lanes.reduction(place);
  const double reduce_alpha_s = lanes.reduce_s(0, place);
  constexpr std::int64_t kProbe = 1 << 20;
  return StepCost{.alpha_s = cost.hold_s,
                  .beta_s_per_byte = 1 / cost.bandwidth_bytes_per_s,
                  .reduce_alpha_s = reduce_alpha_s,
                  .gamma_s_per_byte =
                      (lanes.reduce_s(kProbe, place) - reduce_alpha_s) / kProbe,
                  .reduction_overlaps = reduction.overlaps_transfer};
}

}  // namespace forescale
