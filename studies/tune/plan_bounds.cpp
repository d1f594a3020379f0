#include "studies/tune/plan_bounds.hpp"

#include <algorithm>
#include <functional>

#include "algorithms/common_options.hpp"
#include "sim/bounds.hpp"
#include "sim/folded.hpp"
#include "sim/pair_times.hpp"

namespace forescale {
namespace {

double moved_s(const ResolvedCall& call) {
  std::map<std::pair<int, int>, double> bytes;
  const std::vector<int>& slots = call.group->slots;
  for (int rank = 0; rank < call.call.rank_count; ++rank) {
    OpStream stream = call.collective->plan(call.call, rank);
    int last_peer = -1;
    double* sum = nullptr;
    while (stream.next()) {
      const Op& op = stream.op();
      if (op.kind != OpKind::kSend) continue;
      if (op.peer != last_peer)
        sum = &bytes[{slots[static_cast<size_t>(rank)], slots[static_cast<size_t>(op.peer)]}];
      last_peer = op.peer;
      *sum += static_cast<double>(op.bytes);
    }
  }
  return message_bound(bytes, *call.lanes).time_s;
}

// The same with all bytes in one chunk; a plan without chunks may be another one.
PlanChoice in_one_chunk(PlanChoice plan, std::int64_t bytes) {
  if (plan.options.number(kChunkBytes) > 0) plan.options.set(kChunkBytes.name, bytes);
  return plan;
}

// What keeps the ports of one rank, each for so long, as the cost engine has it.
class PortUse {
 public:
  PortUse(const LaneTimes& times, int rank) : times_(times), rank_(rank) {}

  void add(const Op& op) {
    if (op.kind == OpKind::kCopy) return;
    const bool sends = op.kind == OpKind::kSend;
    const PairTimes& pair =
        sends ? times_.pair(rank_, op.peer, op.bytes) : times_.pair(op.peer, rank_, op.bytes);
    const bool is_eager = times_.is_eager(op.bytes);
    const double copy_s = is_eager ? times_.eager_copy_s(op.bytes) : 0;
    if (sends) {
      send_s_ += pair.hold_s + (is_eager ? copy_s : pair.move_s);
      return;
    }
    const double reduce_s = op.kind == OpKind::kRecvReduce ? times_.reduce_s(op.bytes) : 0;
    reduce_s_ += reduce_s;
    receive_s_ += (is_eager ? copy_s : pair.hold_s + pair.move_s) + pair.o_recv_s +
                  (times_.overlaps() ? 0 : reduce_s);
  }
  double busiest_s() const { return std::max({send_s_, receive_s_, reduce_s_}); }

 private:
  const LaneTimes& times_;
  const int rank_;
  double send_s_ = 0;
  double receive_s_ = 0;
  double reduce_s_ = 0;
};

double busiest_port_s(const ResolvedCall& call, const LaneTimes& times, int rank) {
  PortUse use(times, rank);
  OpStream stream = message_plan(*call.collective, call.call, rank);
  while (stream.next()) use.add(stream.op());
  return use.busiest_s();
}

LaneTimes lane_times(const ResolvedCall& call) {
  return {*call.lanes, call.kind(), call.group->slots,
          std::vector<LaneTimes::Last>(call.group->slots.size())};
}

// The rank whose ports are the busiest.
int busiest_rank(const ResolvedCall& call) {
  const LaneTimes times = lane_times(call);
  std::vector<double> busy_s;
  for (int rank = 0; rank < call.call.rank_count; ++rank)
    busy_s.push_back(busiest_port_s(call, times, rank));
  return static_cast<int>(std::max_element(busy_s.begin(), busy_s.end()) - busy_s.begin());
}

// FNV-1a, a number at a time.
class Fingerprint {
 public:
  template <class Value>
  void add(Value value) {
    constexpr std::uint64_t kPrime = 0x100000001B3ULL;
    hash_ = (hash_ ^ std::hash<Value>{}(value)) * kPrime;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

}  // namespace

PlanBounds::PlanBounds(const TuneQuestion& question, const QuestionMachine& machine)
    : question_(question),
      lanes_(machine.platform, machine.stack),
      group_(shared_first_slots(machine.platform, question.ranks)) {}

ResolvedCall PlanBounds::resolved(const PlanChoice& plan) const {
  return resolve(lanes_, group_,
                 {.op = question_.op, .bytes = question_.bytes, .root = 0, .plan = &plan});
}

double PlanBounds::of_bytes(const PlanChoice& plan) {
  const ResolvedCall call = resolved(plan);
  const auto [least, is_new] =
      least_s_.try_emplace({call.place, plan.options.number(kChunkBytes)}, 0.0);
  if (is_new) least->second = collective_bound(call).time_s;
  if (call.through_host || call.orders_of != nullptr) return least->second;
  const PlanChoice whole = in_one_chunk(plan, question_.bytes);
  const auto [moved, is_first] = moved_s_.try_emplace(plan_text(whole), 0.0);
  if (is_first) moved->second = moved_s(resolved(whole));
  return std::max(least->second, moved->second);
}

double PlanBounds::of_ports(const PlanChoice& plan) {
  const ResolvedCall call = resolved(plan);
  if (!call.why_not_priced().empty()) return 0;
  const PlanChoice whole = in_one_chunk(plan, question_.bytes);
  const auto [busiest, is_new] = busiest_.try_emplace(plan_text(whole), 0);
  if (is_new) busiest->second = busiest_rank(resolved(whole));
  const LaneTimes times = lane_times(call);
  return call.call_s + std::max(busiest_port_s(call, times, busiest->second),
                                busiest_port_s(call, times, call.call.root));
}

double PlanBounds::of_messages(const PlanChoice& plan, double limit_s) const {
  const ResolvedCall call = resolved(plan);
  return call.why_not_priced().empty() ? price_call(call, limit_s).time_s : 0;
}

std::uint64_t PlanBounds::fingerprint(const PlanChoice& plan) const {
  const ResolvedCall call = resolved(plan);
  Fingerprint all;
  all.add(static_cast<int>(call.place));
  all.add(call.protocol);
  all.add(call.call_s);
  all.add(call.through_host);
  all.add(call.default_stream);
  all.add(call.orders_of);
  for (int rank = 0; rank < call.call.rank_count; ++rank) {
    OpStream stream = call.collective->plan(call.call, rank);
    while (stream.next()) {
      const Op& op = stream.op();
      all.add(static_cast<int>(op.kind));
      all.add(op.peer);
      all.add(op.offset);
      all.add(op.bytes);
      all.add(op.copy_from);
      all.add(op.after);
      all.add(op.write_after);
      all.add(op.queue);
      all.add(op.awaits);
      all.add(op.joins_next);
    }
    all.add(rank);
  }
  return all.value();
}

}  // namespace forescale
