// What a plan takes, exactly, where nothing contends: the oracle of the closed forms. Slow, simple.
//
// A message starts when the sender's next send and the receiver's next receive are each other's,
// both have what they wait for and both ports are free; it holds both ports for alpha + beta b. A
// recv_reduce then reduces: on the receive port, or, overlapping, on the rank's reduction unit, one
// reduction at a time. Copies take no time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "algorithms/collective.hpp"
#include "base/error.hpp"

namespace forescale::testing {

class ReferenceEngine {
 public:
  ReferenceEngine(const Collective& collective, const CollectiveCall& call, StepCost cost)
      : cost_(cost), ranks_(static_cast<std::size_t>(call.rank_count)) {
    for (int rank = 0; rank < call.rank_count; ++rank) {
      RankTimes& times = ranks_[static_cast<std::size_t>(rank)];
      for (OpStream plan = message_plan(collective, call, rank); plan.next();)
        times.ops.push_back(plan.op());
      times.end_s.resize(times.ops.size());
      for (std::size_t i = 0; i < times.ops.size(); ++i) {
        const OpKind kind = times.ops[i].kind;
        (kind == OpKind::kSend   ? times.sends
         : kind == OpKind::kCopy ? times.copies
                                 : times.receives)
            .push_back(i);
      }
    }
  }

  // Relaxes until nothing changes; the time of the last operation.
  double run_s() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        while (step(rank)) changed = true;
    }
    double last_s = 0;
    for (const RankTimes& times : ranks_)
      for (const std::optional<double>& end_s : times.end_s) {
        FORESCALE_CHECK(end_s.has_value(), "the plan did not finish");
        last_s = std::max(last_s, *end_s);
      }
    return last_s;
  }

 private:
  struct RankTimes {
    std::vector<Op> ops;
    std::vector<std::optional<double>> end_s;  // of each operation, reduction included
    std::vector<std::size_t> sends, receives, copies;
    std::size_t sent = 0, received = 0;  // how many of them have their times
    double send_port_s = 0, receive_port_s = 0, reduction_unit_s = 0;
    std::optional<double> arrived_s;  // of the receive that still has to reduce
  };

  // The latest end of receives and copies, or of sends, up to `distance` before; none: not known.
  static std::optional<double> waited_s(const RankTimes& times, std::size_t position, int distance,
                                        bool for_sends) {
    double latest_s = 0;
    if (distance == 0) return latest_s;
    distance = cut_short(distance);
    for (std::size_t i = 0; i + static_cast<std::size_t>(distance) <= position; ++i) {
      if ((times.ops[i].kind == OpKind::kSend) != for_sends) continue;
      if (!times.end_s[i]) return std::nullopt;
      latest_s = std::max(latest_s, *times.end_s[i]);
    }
    return latest_s;
  }
  static std::optional<double> start_s(const RankTimes& times, std::size_t position) {
    const Op& op = times.ops[position];
    const auto received_s = waited_s(times, position, op.after, false);
    if (!received_s || op.kind == OpKind::kRecvReduce) return received_s;
    const auto sent_s = waited_s(times, position, op.write_after, true);
    return sent_s ? std::optional(std::max(*received_s, *sent_s)) : std::nullopt;
  }

  bool step(std::size_t rank) {
    RankTimes& times = ranks_[rank];
    for (const std::size_t copy : times.copies)
      if (!times.end_s[copy] && (times.end_s[copy] = start_s(times, copy))) return true;
    if (times.arrived_s) return reduce(times);
    if (times.sent == times.sends.size()) return false;
    const std::size_t out = times.sends[times.sent];
    return transfer(times, out, static_cast<int>(rank));
  }

  bool reduce(RankTimes& times) {
    const std::size_t in = times.receives[times.received];
    const auto sent_s = waited_s(times, in, times.ops[in].write_after, true);
    if (!sent_s) return send_only(times);
    const double begin_s = std::max({*times.arrived_s, *sent_s, times.reduction_unit_s});
    times.end_s[in] = times.reduction_unit_s = begin_s + cost_.reduce_s(times.ops[in].bytes);
    times.receive_port_s = cost_.reduction_overlaps ? *times.arrived_s : *times.end_s[in];
    times.arrived_s.reset();
    ++times.received;
    return true;
  }
  bool send_only(RankTimes& times) {
    if (times.sent == times.sends.size()) return false;
    return transfer(times, times.sends[times.sent], static_cast<int>(&times - ranks_.data()));
  }

  bool transfer(RankTimes& from, std::size_t out, int rank) {
    RankTimes& to = ranks_[static_cast<std::size_t>(from.ops[out].peer)];
    if (to.arrived_s || to.received == to.receives.size()) return false;
    const std::size_t in = to.receives[to.received];
    if (to.ops[in].peer != rank) return false;
    const auto send_ready_s = start_s(from, out);
    const auto receive_ready_s = start_s(to, in);
    if (!send_ready_s || !receive_ready_s) return false;
    const double begin_s =
        std::max({*send_ready_s, *receive_ready_s, from.send_port_s, to.receive_port_s});
    const double end_s = begin_s + cost_.transfer_s(from.ops[out].bytes);
    from.end_s[out] = from.send_port_s = to.receive_port_s = end_s;
    ++from.sent;
    if (to.ops[in].kind == OpKind::kRecvReduce) {
      to.arrived_s = end_s;
    } else {
      to.end_s[in] = end_s;
      ++to.received;
    }
    return true;
  }

  StepCost cost_;
  std::vector<RankTimes> ranks_;
};

}  // namespace forescale::testing
