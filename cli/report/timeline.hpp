// A Chrome trace (Trace Event Format, JSON), read event by event into the columns that a report
// carries: two or three bytes a span instead of a hundred, and never the whole trace as a tree.
//
// Only complete events ("ph": "X") become spans; metadata names processes and threads; events of
// other kinds are counted.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace forescale {

struct TimelineLimits {
  std::int64_t spans_max = 1000000;
};

// One row of a timeline: a thread's spans, sorted by time; what encloses before what it encloses.
struct ReportRow {
  std::string process;                 // "node0"
  std::string thread;                  // "rank 0 (node0/gpu0) compute"
  std::vector<std::int64_t> begin_ns;  // 0: the earliest of all rows
  std::vector<std::int64_t> length_ns;
  std::vector<std::size_t> kind;
};

struct ReportTimeline {
  std::vector<nlohmann::json> kinds;  // ["name", {args}]: what a span is
  std::map<std::string, std::size_t> other_events;
  std::vector<ReportRow> rows;
  // Beyond TimelineLimits spans shorter than this were merged with neighbours; how many are gone.
  std::int64_t merged_below_ns = 0;
  std::size_t merged_count = 0;
};

// {"other_events": {"s": 12, ...}, "spans", "merged_below_s", "merged_count", "packed": text}.
// Packed (cli/report/packed.hpp) are: the length of a text; that text, JSON: {"kinds", "rows":
// [{"process", "thread", "count"}]}; then of all spans, row by row, first how long after the end of
// the one before (of the row) it begins, then all lengths, less that of the last span of that kind,
// then all kinds, less that of the span before. Times are ns.
nlohmann::json packed_timeline(const ReportTimeline& timeline);

class TraceColumns {
 public:
  struct EventPlace;  // for errors

  // The next element of traceEvents. InputError naming `file` and the event.
  void add(const nlohmann::json& event, const std::string& file);
  std::size_t span_count() const { return span_count_; }
  // The timeline; InputError naming `file` when there is no span.
  ReportTimeline finish(const std::string& file, const TimelineLimits& limits) const;

 private:
  struct Span {
    std::int64_t begin_ns = 0;
    std::int64_t length_ns = 0;
    std::size_t kind = 0;
  };
  using ThreadId = std::pair<nlohmann::json, nlohmann::json>;  // process and thread, as in the file
  struct Thread {
    std::string name;
    double sort_index = 0;
    bool is_sorted = false;
    std::vector<Span> spans;
  };

  void add_metadata(const nlohmann::json& event);
  void add_span(const nlohmann::json& event, const EventPlace& place);
  std::size_t kind_of(const nlohmann::json& event);

  std::size_t event_count_ = 0;
  std::size_t span_count_ = 0;
  std::map<ThreadId, Thread> threads_;
  std::map<nlohmann::json, std::string> process_names_;
  std::map<std::string, std::size_t> kind_index_;
  std::vector<nlohmann::json> kinds_;
  std::map<std::string, std::size_t> other_events_;
};

}  // namespace forescale
