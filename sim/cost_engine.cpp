#include "sim/cost_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "sim/pair_times.hpp"

namespace forescale {
namespace {

// An operation that was read from a stream: a send, or a receive (copies are receives from nobody).
// `after` and `write_after` as counts of the rank's own operations that must be done before.
struct Step {
  std::int64_t bytes = 0;
  std::int32_t peer = -1;
  OpKind kind = OpKind::kSend;
  std::int32_t receives_before = 0;
  std::int32_t sends_before = 0;
};

// How much is kept of each direction of a rank, powers of two. Little, because a large simulation
// is bound by the memory that it walks; more for the plans that need it.
template <int kWindowOperations, int kHistoryTimes>
struct Depth {
  static constexpr int kWindow = kWindowOperations;  // read ahead of the slower direction
  static constexpr int kHistory = kHistoryTimes;     // done-times
  static_assert((kWindow & (kWindow - 1)) == 0 && (kHistory & (kHistory - 1)) == 0);
};
using Shallow = Depth<8, 16>;
using Deeper = Depth<64, 128>;
using Deepest = Depth<4096, 8192>;
// The deepest history has whatever a wait can ask for.
static_assert(Deepest::kHistory >= Deepest::kWindow + kLookback);
constexpr std::int32_t kMostOperations =
    std::numeric_limits<std::int32_t>::max() - Deepest::kWindow;

// The sends of one rank, or its receives, in order.
template <class Depth>
struct Direction {
  std::int32_t known = 0;  // read from the stream
  std::int32_t done = 0;
  double free_s = 0;  // when the port is
  double last_s = 0;  // when all that are done were done

  // A known operation that is not done, by its count; `next` is the oldest.
  Step& step(std::int32_t count) { return steps[count & (Depth::kWindow - 1)]; }
  Step& next() { return step(done); }
  // When the first `count` were done, for the newest counts.
  double& done_s(std::int32_t count) { return times_s[count & (Depth::kHistory - 1)]; }
  std::int32_t room() const { return Depth::kWindow - (known - done); }

  Step steps[Depth::kWindow];
  double times_s[Depth::kHistory] = {};
};

struct EagerArrival {
  int source = 0;
  double ready_s = 0;
};

template <class Depth>
struct RankState {
  OpStream stream;
  Direction<Depth> send;
  Direction<Depth> receive;
  std::uint32_t recent_sends = 0;  // bit k: the operation k places before the newest is a send
  double reduce_free_s = 0;
  // The oldest receive has arrived; its reduction may still wait for a send.
  double port_free_s = 0;
  double delivered_s = 0;
  bool arrived = false;
  bool ended = false;
  bool queued = false;
  std::vector<EagerArrival> eager;
};

template <class Times, class Depth>
class Engine {
 public:
  Engine(const Collective& collective, const CollectiveCall& call, const Times& times,
         double limit_s)
      : times_(times),
        limit_s_(limit_s),
        ranks_(static_cast<size_t>(call.rank_count)),
        queue_(ranks_.size()) {
    for (int rank = 0; rank < call.rank_count; ++rank) {
      at(rank).stream = message_plan(collective, call, rank);
      enqueue(rank);
    }
  }

  // False when the plan stalled, perhaps because too little is kept.
  bool run(CostResult& result) {
    while (queued_ > 0 && !is_history_too_short_) {
      current_ = queue_[first_];
      first_ = first_ + 1 == queue_.size() ? 0 : first_ + 1;
      --queued_;
      at(current_).queued = false;
      while (try_send(current_) || try_receive(current_)) {
      }
      if (latest_s_ <= limit_s_) continue;
      result.time_s = latest_s_;  // what a history too short leaves out would make it longer
      return true;
    }
    for (Rank& state : ranks_) {
      if (has_next(state, state.send) || has_next(state, state.receive) || !state.ended)
        return false;
      result_.time_s = std::max({result_.time_s, state.send.last_s, state.receive.last_s});
      result_.messages += static_cast<std::uint64_t>(state.send.done);
      result_.operations += static_cast<std::uint64_t>(state.send.done) +
                            static_cast<std::uint64_t>(state.receive.done);
    }
    result = result_;
    return !is_history_too_short_;
  }

 private:
  using Rank = RankState<Depth>;
  using Ports = Direction<Depth>;

  Rank& at(int rank) { return ranks_[static_cast<size_t>(rank)]; }

  void enqueue(int rank) {
    if (rank == current_) return;
    Rank& state = at(rank);
    if (state.queued) return;
    state.queued = true;
    size_t last = first_ + queued_++;
    if (last >= queue_.size()) last -= queue_.size();
    queue_[last] = rank;
  }

  // Whether the next operation of a direction is known.
  bool has_next(Rank& state, Ports& direction) {
    if (direction.known == direction.done) read_ahead(state);
    return direction.known != direction.done;
  }

  // As many as fit: a coroutine's frame is cold by the time it is asked again.
  void read_ahead(Rank& state) {
    FORESCALE_CHECK(state.send.known < kMostOperations && state.receive.known < kMostOperations,
                    "too many operations on one rank");
    while (!state.ended) {
      const int both = std::min(state.send.room(), state.receive.room());
      if (both == 0) return;
      for (int room = both; room > 0; --room) {
        if (!state.stream.next()) {
          state.ended = true;
          return;
        }
        append(state, state.stream.op());
      }
    }
  }

  void append(Rank& state, const Op& op) {
    const bool sends = op.kind == OpKind::kSend;
    Ports& direction = sends ? state.send : state.receive;
    direction.step(direction.known) = {
        .bytes = op.bytes,
        .peer = op.peer,
        .kind = op.kind,
        .receives_before = op.after == 0 ? 0 : state.receive.known - nearer(state, op.after, false),
        .sends_before =
            op.write_after == 0 ? 0 : state.send.known - nearer(state, op.write_after, true)};
    ++direction.known;
    state.recent_sends = (state.recent_sends << 1) | (sends ? 1U : 0U);
  }

  // Sends, or receives, among the last operations that are less than `distance` places before the
  // next one.
  static std::int32_t nearer(const Rank& state, int distance, bool sends) {
    if (distance == 1) return 0;
    const int places = std::min(cut_short(distance) - 1, state.send.known + state.receive.known);
    const int found = std::popcount(state.recent_sends & ((1U << places) - 1));
    return sends ? found : places - found;
  }

  // The later of `time_s` and when the first `count` operations were done, which they are.
  double max_with_done(double time_s, Ports& direction, std::int32_t count) {
    if (count == 0) return time_s;
    const std::int32_t oldest = direction.done - Depth::kHistory + 1;
    if (count >= oldest) return std::max(time_s, direction.done_s(count));
    // Not later than the oldest kept, which need not matter.
    if (direction.done_s(oldest) > time_s) is_history_too_short_ = true;
    return time_s;
  }

  // When the waits of the next operation are over; negative: not known yet.
  double send_ready_s(Rank& state) {
    const Step& step = state.send.next();
    if (step.receives_before > state.receive.done) return -1;
    return max_with_done(state.send.free_s, state.receive, step.receives_before);
  }

  double receive_ready_s(Rank& state) {
    const Step& step = state.receive.next();
    if (step.receives_before > state.receive.done) return -1;
    const double ready_s = max_with_done(state.receive.free_s, state.receive, step.receives_before);
    if (step.kind == OpKind::kRecvReduce) return ready_s;  // only its reduction waits for sends
    if (step.sends_before > state.send.done) return -1;
    return max_with_done(ready_s, state.send, step.sends_before);
  }

  bool try_send(int rank) {
    Rank& state = at(rank);
    if (!has_next(state, state.send)) return false;
    // Own waits first: the other rank's state is likely cold.
    const double ready_s = send_ready_s(state);
    if (ready_s < 0) return false;
    const Step& step = state.send.next();
    if (times_.is_eager(step.bytes)) return send_eagerly(rank, ready_s);
    Rank& peer = at(step.peer);
    // A receive of an eager message is not this one's, which comes after it.
    if (peer.arrived || !has_next(peer, peer.receive) || peer.receive.next().peer != rank ||
        times_.is_eager(peer.receive.next().bytes))
      return false;
    const double peer_ready_s = receive_ready_s(peer);
    return peer_ready_s >= 0 && meet(rank, step.peer, std::max(ready_s, peer_ready_s));
  }

  bool try_receive(int rank) {
    Rank& state = at(rank);
    if (state.arrived || !has_next(state, state.receive)) return false;
    const double ready_s = receive_ready_s(state);
    if (ready_s < 0) return false;
    const Step& step = state.receive.next();
    if (step.kind == OpKind::kCopy) {
      received(state, ready_s, ready_s);
      return true;
    }
    if (times_.is_eager(step.bytes)) return receive_eagerly(rank, ready_s);
    Rank& peer = at(step.peer);
    if (!has_next(peer, peer.send) || peer.send.next().peer != rank ||
        times_.is_eager(peer.send.next().bytes))
      return false;
    const double peer_ready_s = send_ready_s(peer);
    return peer_ready_s >= 0 && meet(step.peer, rank, std::max(ready_s, peer_ready_s));
  }

  // The next operations of two ranks match: rendez-vous.
  bool meet(int source, int destination, double begin_s) {
    Rank& from = at(source);
    Rank& to = at(destination);
    const std::int64_t bytes = from.send.next().bytes;
    FORESCALE_CHECK(bytes == to.receive.next().bytes, "a message with two sizes");
    const PairTimes times = times_.pair(source, destination, bytes);
    const double end_s = begin_s + times.hold_s + times.move_s;
    arrive(to, end_s + times.o_recv_s, end_s + times.o_recv_s + times.deliver_s);
    sent(from, bytes, end_s);
    settle(to);
    enqueue(source);
    enqueue(destination);
    return true;
  }

  void arrive(Rank& to, double port_free_s, double delivered_s) {
    to.arrived = true;
    to.port_free_s = port_free_s;
    to.delivered_s = delivered_s;
  }

  // Finishes an arrived receive once the sends that its reduction must spare are known.
  void settle(Rank& state) {
    if (!state.arrived) return;
    const Step& step = state.receive.next();
    if (step.kind != OpKind::kRecvReduce) {
      received(state, state.port_free_s, state.delivered_s);
      return;
    }
    if (step.sends_before > state.send.done) return;
    const double begin_s = max_with_done(std::max(state.delivered_s, state.reduce_free_s),
                                         state.send, step.sends_before);
    const double done_s = begin_s + times_.reduce_s(step.bytes);
    state.reduce_free_s = done_s;
    received(state, times_.overlaps() ? state.port_free_s : done_s, done_s);
  }

  bool send_eagerly(int source, double ready_s) {
    Rank& from = at(source);
    const Step step = from.send.next();
    const PairTimes times = times_.pair(source, step.peer, step.bytes);
    const double left_s = ready_s + times.hold_s + times_.eager_copy_s(step.bytes);
    at(step.peer).eager.push_back(
        {.source = source, .ready_s = left_s + times.move_s + times.deliver_s});
    sent(from, step.bytes, left_s);
    enqueue(step.peer);
    return true;
  }

  bool receive_eagerly(int rank, double ready_s) {
    Rank& state = at(rank);
    const Step& step = state.receive.next();
    const auto arrival = std::find_if(state.eager.begin(), state.eager.end(),
                                      [&](const EagerArrival& a) { return a.source == step.peer; });
    if (arrival == state.eager.end()) return false;
    const double there_s = std::max(ready_s, arrival->ready_s) +
                           times_.pair(step.peer, rank, step.bytes).o_recv_s +
                           times_.eager_copy_s(step.bytes);
    state.eager.erase(arrival);
    arrive(state, there_s, there_s);
    settle(state);
    return true;
  }

  void finish(Ports& direction, double port_free_s, double done_s) {
    direction.free_s = port_free_s;
    direction.last_s = std::max(direction.last_s, done_s);
    latest_s_ = std::max(latest_s_, done_s);
    direction.done_s(++direction.done) = direction.last_s;
  }

  void sent(Rank& state, std::int64_t bytes, double done_s) {
    result_.bytes_sent += static_cast<double>(bytes);
    result_.sizes.add(bytes);
    finish(state.send, done_s, done_s);
    settle(state);  // its arrived receive may have waited for this send
  }

  void received(Rank& state, double port_free_s, double done_s) {
    state.arrived = false;
    finish(state.receive, port_free_s, done_s);
  }

  const Times& times_;
  const double limit_s_;
  double latest_s_ = 0;  // when what has been done so far was done
  std::vector<Rank> ranks_;
  // Ranks that may go on, first in, first out; each at most once.
  std::vector<int> queue_;
  size_t first_ = 0;
  size_t queued_ = 0;
  int current_ = -1;  // the rank being advanced: it goes on by itself
  bool is_history_too_short_ = false;
  CostResult result_;
};

constexpr double kNoLimit_s = std::numeric_limits<double>::infinity();

template <class Times>
CostResult evaluate(const Collective& collective, const CollectiveCall& call, const Times& times,
                    double limit_s) {
  CostResult result;
  if (Engine<Times, Shallow>(collective, call, times, limit_s).run(result) ||
      Engine<Times, Deeper>(collective, call, times, limit_s).run(result) ||
      Engine<Times, Deepest>(collective, call, times, limit_s).run(result))
    return result;
  throw SimulationStuck("the plan of " + collective.name + " cannot finish");
}

CostResult evaluate(const Collective& collective, const CollectiveCall& call, const Lanes& lanes,
                    MessageKind kind, std::span<const int> slots, double limit_s) {
  if (const auto step = uniform_step(lanes, slots, kind))
    return evaluate(collective, call, UniformTimes{*step}, limit_s);
  const LaneTimes times{lanes, kind, slots, std::vector<LaneTimes::Last>(slots.size())};
  return evaluate(collective, call, times, limit_s);
}

}  // namespace

CostResult evaluate_cost(const Collective& collective, const CollectiveCall& call,
                         const StepCost& step) {
  return evaluate(collective, call, UniformTimes{step}, kNoLimit_s);
}

CostResult evaluate_cost(const Collective& collective, const CollectiveCall& call,
                         const Lanes& lanes, MessageKind kind, std::span<const int> slots) {
  return evaluate(collective, call, lanes, kind, slots, kNoLimit_s);
}

CostResult evaluate_cost(const ResolvedCall& call, double limit_s) {
  FORESCALE_CHECK(call.why_not_priced().empty(), "a call that the simulator alone can time");
  CostResult result = evaluate(*call.collective, call.call, *call.lanes, call.kind(),
                               call.group->slots, limit_s - call.call_s);
  result.time_s += call.call_s;
  return result;
}

}  // namespace forescale
