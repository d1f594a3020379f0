#include "traces/timeline/timeline.hpp"

#include <algorithm>
#include <array>

namespace forescale {

const char* name_of(Track track) {
  switch (track) {
    case Track::kCompute:
      return "compute";
    case Track::kReduction:
      return "reduction";
    case Track::kSend:
      return "network send";
    case Track::kReceive:
      return "network receive";
    case Track::kCopy:
      return "copy";
    case Track::kMainThread:
      return "main thread waits";
    case Track::kHelperThread:
      return "helper thread waits";
    case Track::kHost:
      return "host";
    case Track::kCollective:
      return "collectives";
    case Track::kPath:
      return "of the iteration";
  }
  return "";
}

int Timeline::label(const std::string& text) {
  const auto [entry, fresh] = index_.emplace(text, static_cast<int>(labels_.size()));
  if (fresh) labels_.push_back(text);
  return entry->second;
}

void Timeline::keep_from(double begin_s) {
  std::erase_if(spans_, [begin_s](const Span& span) { return span.end_s <= begin_s; });
}

std::map<std::string, double> breakdown(const Timeline& timeline, int rank, double end_s) {
  static constexpr std::array<const char*, 3> kKinds{"reducing", "copying",
                                                     "moving"};  // by precedence
  const auto kind_of = [](Track track) -> size_t {
    if (track == Track::kReduction) return 0;
    if (track == Track::kCopy) return 1;
    return track == Track::kSend || track == Track::kReceive ? 2 : kKinds.size();
  };
  struct Change {
    double time_s = 0;
    size_t kind = 0;
    int running = 0;  // +1 begins, -1 ends
  };
  std::vector<Change> changes;
  for (const Span& span : timeline.spans()) {
    const size_t kind = kind_of(span.track);
    if (span.rank != rank || kind == kKinds.size()) continue;
    changes.push_back({span.begin_s, kind, 1});
    changes.push_back({span.end_s, kind, -1});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.time_s < b.time_s; });
  std::map<std::string, double> result{{"waiting", end_s}};
  for (const char* kind : kKinds) result[kind] = 0;
  std::array<int, kKinds.size()> running{};
  double since_s = 0;
  for (const Change& change : changes) {
    const auto busy = std::find_if(running.begin(), running.end(), [](int n) { return n > 0; });
    if (busy != running.end()) {
      const double passed_s = change.time_s - since_s;
      result[kKinds[static_cast<size_t>(busy - running.begin())]] += passed_s;
      result["waiting"] -= passed_s;
    }
    since_s = change.time_s;
    running[change.kind] += change.running;
  }
  return result;
}

}  // namespace forescale
