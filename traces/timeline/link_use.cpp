#include "traces/timeline/link_use.hpp"

#include <algorithm>
#include <numeric>

namespace forescale {
namespace {

// A flow's time within one interval, and what of the link is free there while it lasts.
struct FlowPart {
  std::size_t interval = 0;
  double time_s = 0;
  double free_bytes = 0;
};

// Spreads `bytes` over `parts` at one rate, lower where less is free.
void spread_flow(double bytes, std::vector<FlowPart> parts, std::vector<double>& used_bytes) {
  std::sort(parts.begin(), parts.end(), [](const FlowPart& a, const FlowPart& b) {
    return a.free_bytes * b.time_s < b.free_bytes * a.time_s;
  });
  double left_s = 0;
  for (const FlowPart& part : parts) left_s += part.time_s;
  for (const FlowPart& part : parts) {
    const double taken = std::min(part.free_bytes, bytes * part.time_s / left_s);
    used_bytes[part.interval] += taken;
    bytes -= taken;
    left_s -= part.time_s;
  }
}

}  // namespace

int LinkUse::add_link(const std::string& name, double bandwidth_bytes_per_s) {
  links_.push_back({name, bandwidth_bytes_per_s});
  return static_cast<int>(links_.size()) - 1;
}

void LinkUse::keep_from(double begin_s) {
  std::erase_if(flows_, [begin_s](const Flow& flow) { return flow.end_s <= begin_s; });
}

LinkUse::Curves LinkUse::curves(double begin_s, double end_s, int intervals) const {
  const double width_s = (end_s - begin_s) / intervals;
  std::vector<Curve> curves(links_.size());
  if (width_s <= 0) return {begin_s, end_s, {}};
  std::vector<Flow> flows = flows_;
  std::stable_sort(flows.begin(), flows.end(), [](const Flow& a, const Flow& b) {
    return a.end_s - a.begin_s < b.end_s - b.begin_s;
  });
  for (const Flow& flow : flows) {
    const double from_s = std::max(flow.begin_s, begin_s);
    const double to_s = std::min(flow.end_s, end_s);
    if (from_s >= to_s) continue;
    const auto at = static_cast<std::size_t>(flow.link);
    std::vector<double>& used_bytes = curves[at].shares;
    used_bytes.resize(static_cast<std::size_t>(intervals));
    const double full_bytes = links_[at].bandwidth_bytes_per_s * width_s;
    std::vector<FlowPart> parts;
    const int first = std::clamp(static_cast<int>((from_s - begin_s) / width_s), 0, intervals - 1);
    for (int i = first; i < intervals; ++i) {
      const double time_s =
          std::min(to_s, begin_s + (i + 1) * width_s) - std::max(from_s, begin_s + i * width_s);
      if (time_s <= 0 && i > first) break;
      if (time_s <= 0) continue;
      const auto interval = static_cast<std::size_t>(i);
      parts.push_back({interval, time_s, std::max(full_bytes - used_bytes[interval], 0.0)});
    }
    spread_flow(flow.bytes * (to_s - from_s) / (flow.end_s - flow.begin_s), std::move(parts),
                used_bytes);
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    curves[i].link = links_[i].name;
    for (double& share : curves[i].shares) share /= links_[i].bandwidth_bytes_per_s * width_s;
    curves[i].mean =
        std::accumulate(curves[i].shares.begin(), curves[i].shares.end(), 0.0) / intervals;
  }
  std::erase_if(curves, [](const Curve& curve) { return curve.shares.empty(); });
  std::stable_sort(curves.begin(), curves.end(),
                   [](const Curve& a, const Curve& b) { return a.mean > b.mean; });
  return {begin_s, end_s, std::move(curves)};
}

}  // namespace forescale
