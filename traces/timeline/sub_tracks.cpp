#include "traces/timeline/sub_tracks.hpp"

#include <algorithm>
#include <map>

namespace forescale {

std::vector<int> sub_tracks(const std::vector<Span>& spans) {
  std::vector<size_t> order(spans.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return spans[a].begin_s < spans[b].begin_s; });
  std::map<std::pair<int, Track>, std::vector<double>> free_from;
  std::vector<int> chosen(spans.size());
  for (size_t i : order) {
    std::vector<double>& ends = free_from[{spans[i].rank, spans[i].track}];
    size_t lane = 0;
    while (lane < ends.size() && ends[lane] > spans[i].begin_s) ++lane;
    lane = std::min<size_t>(lane, kSubTracksMax - 1);
    if (lane == ends.size()) ends.push_back(0);
    ends[lane] = spans[i].end_s;
    chosen[i] = static_cast<int>(lane);
  }
  return chosen;
}

}  // namespace forescale
