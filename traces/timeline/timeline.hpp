// A timeline: what every rank did when, as spans. Written by the simulator, read by trace writers.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/timeline/link_use.hpp"

namespace forescale {

// One line of a rank in a trace viewer. Spans of a track nest or follow each other.
enum class Track : std::uint8_t {
  kCompute,
  kReduction,
  kSend,
  kReceive,
  kCopy,
  kMainThread,
  kHelperThread,
  kHost,
  kCollective,
  kPath  // the critical path
};
inline constexpr int kTrackCount = 10;
const char* name_of(Track track);

struct Span {
  int rank = 0;
  Track track = Track::kCompute;
  int label = 0;  // index into Timeline::labels()
  double begin_s = 0;
  double end_s = 0;
  int peer = -1;           // send and receive tracks
  std::int64_t bytes = 0;  // 0 where it does not apply
};

class Timeline {
 public:
  static constexpr int kAllRanks = -1;
  // Keeps the spans of one rank only, or of all.
  explicit Timeline(int rank = kAllRanks) : rank_(rank) {}

  int label(const std::string& text);  // number of a text, the same for equal texts
  void add(const Span& span) {
    if (rank_ == kAllRanks || rank_ == span.rank) spans_.push_back(span);
  }

  // Forgets what ended by `begin_s`.
  void keep_from(double begin_s);

  const std::vector<std::string>& labels() const { return labels_; }
  const std::vector<Span>& spans() const { return spans_; }

 private:
  int rank_;
  std::vector<std::string> labels_;
  std::unordered_map<std::string, int> index_;
  std::vector<Span> spans_;
};

// Time in [0, end_s] of one rank by what it does, seconds: "reducing", else "copying" (between GPU
// and host), else "moving" (sending or receiving), else "waiting". They add up to end_s.
std::map<std::string, double> breakdown(const Timeline& timeline, int rank, double end_s);

// Where a rank lives, for grouping in a viewer.
struct RankPlace {
  int node = 0;
  std::string node_name;
  std::string rank_name;
};

// Chrome trace JSON that Perfetto opens: a process a node, a thread a rank and track, flow arrows
// from the send to its receive, a counter a link. Times in microseconds.
void write_chrome_trace(const Timeline& timeline, const std::vector<RankPlace>& places,
                        std::ostream& out, const LinkUse::Curves& links = {});

// A Paje trace, for pj_dump, ViTE and other viewers: nodes hold ranks, ranks hold tracks with their
// states, arrows are messages, links have their use as a variable. Times in seconds.
void write_paje(const Timeline& timeline, const std::vector<RankPlace>& places, std::ostream& out,
                const LinkUse::Curves& links = {});

}  // namespace forescale
