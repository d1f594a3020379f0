#include "traces/timeline.hpp"

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

}  // namespace forescale
