#include "traces/timeline/link_use.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace forescale {

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
  for (const Flow& flow : flows_) {
    const double from_s = std::max(flow.begin_s, begin_s);
    const double to_s = std::min(flow.end_s, end_s);
    if (from_s >= to_s) continue;
    const auto at = static_cast<std::size_t>(flow.link);
    std::vector<double>& shares = curves[at].shares;
    shares.resize(static_cast<std::size_t>(intervals));
    // Of the link, while the flow lasts.
    const double share =
        flow.bytes / (flow.end_s - flow.begin_s) / links_[at].bandwidth_bytes_per_s;
    const int first = std::clamp(static_cast<int>((from_s - begin_s) / width_s), 0, intervals - 1);
    for (int i = first; i < intervals; ++i) {
      const double overlap_s =
          std::min(to_s, begin_s + (i + 1) * width_s) - std::max(from_s, begin_s + i * width_s);
      if (overlap_s <= 0 && i > first) break;
      shares[static_cast<std::size_t>(i)] += share * std::max(overlap_s, 0.0) / width_s;
    }
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    curves[i].link = links_[i].name;
    curves[i].mean =
        std::accumulate(curves[i].shares.begin(), curves[i].shares.end(), 0.0) / intervals;
  }
  std::erase_if(curves, [](const Curve& curve) { return curve.shares.empty(); });
  std::stable_sort(curves.begin(), curves.end(),
                   [](const Curve& a, const Curve& b) { return a.mean > b.mean; });
  return {begin_s, end_s, std::move(curves)};
}

}  // namespace forescale
