// What a message costs a pair of ranks where nothing contends: the same for all pairs, or by lane.
// The two are the cost engine's template arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/collective.hpp"
#include "sim/engine/lanes.hpp"

namespace forescale {

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
  MessageKind kind;
  std::span<const int> slots;  // by rank
  // What a rank sends is often like what it sent before.
  struct Last {
    std::int64_t bytes = -1;
    int to = -1;
    PairTimes times;
  };
  mutable std::vector<Last> last_of_sender;

  const PairTimes& pair(int from, int to, std::int64_t bytes) const {
    Last& last = last_of_sender[static_cast<size_t>(from)];
    if (last.to == to && last.bytes == bytes) return last.times;
    const LaneCost cost = lanes.cost(
        lanes.lane(slots[static_cast<size_t>(from)], slots[static_cast<size_t>(to)], kind, bytes),
        bytes);
    last = {.bytes = bytes,
            .to = to,
            .times = {.hold_s = cost.hold_s,
                      .move_s = static_cast<double>(bytes) / cost.bandwidth_bytes_per_s,
                      .o_recv_s = cost.o_recv_s,
                      .deliver_s = cost.deliver_s}};
    return last.times;
  }
  double reduce_s(std::int64_t bytes) const { return lanes.reduce_s(bytes, kind.place); }
  bool overlaps() const {
    const ReductionRule& rule = lanes.reduction(kind.place);
    return rule.overlaps_transfer || rule.place == ReductionPlace::kFree;
  }
  bool is_eager(std::int64_t bytes) const { return lanes.is_eager(bytes); }
  double eager_copy_s(std::int64_t bytes) const { return lanes.eager_copy_s(bytes); }
};

// The step cost that is common to all pairs of these slots, if there is one.
std::optional<StepCost> uniform_step(const Lanes& lanes, std::span<const int> slots,
                                     MessageKind kind);

}  // namespace forescale
