#include "sim/pair_times.hpp"

namespace forescale {

std::optional<StepCost> uniform_step(const Lanes& lanes, std::span<const int> slots,
                                     MessageKind kind) {
  const Stack& stack = lanes.stack();
  const Platform& platform = lanes.platform();
  const bool papers_alpha = stack.latency_holds_ports && stack.eager_limit.value == 0 &&
                            stack.paths.size() <= 2 && stack.channels == 1;
  if (!papers_alpha || !platform.uniform_pairs || slots.size() < 2) return std::nullopt;
  const Lane& lane = lanes.lane(slots[0], slots[1], kind, 1);
  const LaneCost cost = lanes.cost(lane, 1);
  if (!lane.stages.empty() || cost.o_recv_s > 0 || cost.deliver_s > 0) return std::nullopt;
  const ReductionRule& reduction = lanes.reduction(kind.place);
  const double reduce_alpha_s = lanes.reduce_s(0, kind.place);
  constexpr std::int64_t kProbe = 1 << 20;
  return StepCost{
      .alpha_s = cost.hold_s,
      .beta_s_per_byte = 1 / cost.bandwidth_bytes_per_s,
      .reduce_alpha_s = reduce_alpha_s,
      .gamma_s_per_byte = (lanes.reduce_s(kProbe, kind.place) - reduce_alpha_s) / kProbe,
      .reduction_overlaps =
          reduction.overlaps_transfer || reduction.place == ReductionPlace::kFree};
}

}  // namespace forescale
