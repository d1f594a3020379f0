// A Chrome trace (Trace Event Format, JSON), read event by event into the columns that a report
// carries: ten bytes a span instead of a hundred, and never the whole trace as a tree.
//
// Only complete events ("ph": "X") become spans; metadata names processes and threads; events of
// other kinds are counted. A timeline in a report is
//   {"unit": "ns",                          spans begin at 0 with the earliest
//    "kinds": [["name", {args}], ...],      what a span is
//    "other_events": {"s": 12, ...},
//    "rows": [{"process": "node0", "thread": "rank 0 (node0/gpu0) compute",
//              "begin": [0, 17, ...],       sorted; each the difference to the one before
//              "length": [...], "kind": [...]}, ...]}
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace forescale {

class TraceColumns {
 public:
  struct EventPlace;  // for errors

  // The next element of traceEvents. InputError naming `file` and the event.
  void add(const nlohmann::json& event, const std::string& file);
  std::size_t span_count() const { return span_count_; }
  // The timeline; InputError naming `file` when there is no span.
  nlohmann::json finish(const std::string& file) const;

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
