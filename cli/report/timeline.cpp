#include "cli/report/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/error.hpp"
#include "cli/report/packed.hpp"

namespace forescale {

struct TraceColumns::EventPlace {
  const std::string& file;
  std::size_t number;  // in traceEvents
};

namespace {

using nlohmann::json;

// Process and thread identifiers may be numbers or texts, or be missing.
json identifier(const json& event, const char* key) {
  const auto found = event.find(key);
  return found == event.end() || found->is_structured() ? json(0) : *found;
}

std::string text_of(const json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

[[noreturn]] void refuse_event(const json& event, const char* key,
                               const TraceColumns::EventPlace& place,
                               const std::string& constraint) {
  const auto found = event.find(key);
  throw InputError({.source = place.file,
                    .path = fmt::format("/traceEvents/{}/{}", place.number, key),
                    .value = found == event.end() ? "" : found->dump().substr(0, 60),
                    .constraint = constraint});
}

// Chrome's microseconds, to whole nanoseconds.
std::int64_t nanoseconds(const json& event, const char* key,
                         const TraceColumns::EventPlace& place) {
  constexpr double kMostUs = 4e15;  // 127 years; 64 bits hold twice as much
  const auto found = event.find(key);
  const double us = found != event.end() && found->is_number() ? found->get<double>() : NAN;
  if (!(std::abs(us) <= kMostUs))
    refuse_event(event, key, place, "must be a number of microseconds, at most 4e15 from 0");
  return std::llround(us * 1e3);
}

size_t span_count(const ReportTimeline& timeline) {
  size_t count = 0;
  for (const ReportRow& row : timeline.rows) count += row.kind.size();
  return count;
}

// Spans that together take less than `below_ns` become one, of the longest one's kind.
void merge_short(ReportRow& row, std::int64_t below_ns) {
  size_t kept = 0;
  std::int64_t longest_ns = 0;
  for (size_t i = 0; i < row.kind.size(); ++i) {
    const std::int64_t end_ns = row.begin_ns[i] + row.length_ns[i];
    if (kept > 0 && end_ns - row.begin_ns[kept - 1] < below_ns &&
        row.length_ns[kept - 1] < below_ns) {
      row.length_ns[kept - 1] = std::max(row.length_ns[kept - 1], end_ns - row.begin_ns[kept - 1]);
      if (row.length_ns[i] > longest_ns) {
        longest_ns = row.length_ns[i];
        row.kind[kept - 1] = row.kind[i];
      }
      continue;
    }
    row.begin_ns[kept] = row.begin_ns[i];
    row.length_ns[kept] = longest_ns = row.length_ns[i];
    row.kind[kept] = row.kind[i];
    ++kept;
  }
  row.begin_ns.resize(kept);
  row.length_ns.resize(kept);
  row.kind.resize(kept);
}

// As few as need be: from what a screen a million pixels wide could show, doubling.
void merge_short(ReportTimeline& timeline, const TimelineLimits& limits) {
  const size_t before = span_count(timeline);
  std::int64_t end_ns = 0;
  for (const ReportRow& row : timeline.rows)
    end_ns = std::max(end_ns, row.begin_ns.back() + row.length_ns.back());
  const auto count_max = std::max(static_cast<size_t>(limits.spans_max), timeline.rows.size());
  std::int64_t below_ns = std::max<std::int64_t>(1, end_ns >> 20);
  for (; span_count(timeline) > count_max && below_ns <= 2 * end_ns; below_ns *= 2) {
    for (ReportRow& row : timeline.rows) merge_short(row, below_ns);
    timeline.merged_below_ns = below_ns;
  }
  timeline.merged_count = before - span_count(timeline);
}

}  // namespace

json packed_timeline(const ReportTimeline& timeline) {
  json rows = json::array();
  std::string gaps;
  std::string lengths;
  std::string kinds;
  std::vector<std::int64_t> last_length_ns(timeline.kinds.size());
  for (const ReportRow& row : timeline.rows) {
    rows.push_back({{"process", row.process}, {"thread", row.thread}, {"count", row.kind.size()}});
    std::int64_t end_ns = 0;
    std::int64_t kind_before = 0;
    for (size_t i = 0; i < row.kind.size(); ++i) {
      const auto kind = static_cast<std::int64_t>(row.kind[i]);
      append_varint(gaps, row.begin_ns[i] - end_ns);
      append_varint(lengths, row.length_ns[i] - last_length_ns[row.kind[i]]);
      append_varint(kinds, kind - kind_before);
      end_ns = row.begin_ns[i] + row.length_ns[i];
      last_length_ns[row.kind[i]] = row.length_ns[i];
      kind_before = kind;
    }
  }
  const std::string names = json{{"kinds", timeline.kinds}, {"rows", rows}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
  std::string bytes;
  append_varint(bytes, static_cast<std::int64_t>(names.size()));
  return {{"other_events", timeline.other_events},
          {"spans", span_count(timeline)},
          {"merged_below_s", static_cast<double>(timeline.merged_below_ns) * 1e-9},
          {"merged_count", timeline.merged_count},
          {"packed", packed_text(bytes + names + gaps + lengths + kinds)}};
}

void TraceColumns::add(const json& event, const std::string& file) {
  const std::size_t number = event_count_++;
  const std::string phase = text_of(event, "ph");
  if (phase == "X")
    add_span(event, {.file = file, .number = number});
  else if (phase == "M")
    add_metadata(event);
  else
    ++other_events_[phase];
}

void TraceColumns::add_metadata(const json& event) {
  const auto args = event.find("args");
  if (args == event.end() || !args->is_object()) return;
  const std::string what = text_of(event, "name");
  const json process = identifier(event, "pid");
  if (what == "process_name") process_names_[process] = text_of(*args, "name");
  if (what == "thread_name")
    threads_[{process, identifier(event, "tid")}].name = text_of(*args, "name");
  const auto sort_index = args->find("sort_index");
  if (what == "thread_sort_index" && sort_index != args->end() && sort_index->is_number()) {
    Thread& thread = threads_[{process, identifier(event, "tid")}];
    thread.sort_index = sort_index->get<double>();
    thread.is_sorted = true;
  }
}

void TraceColumns::add_span(const json& event, const EventPlace& place) {
  const Span span{.begin_ns = nanoseconds(event, "ts", place),
                  .length_ns = nanoseconds(event, "dur", place),
                  .kind = kind_of(event)};
  if (span.length_ns < 0) refuse_event(event, "dur", place, "must be >= 0");
  threads_[{identifier(event, "pid"), identifier(event, "tid")}].spans.push_back(span);
  ++span_count_;
}

std::size_t TraceColumns::kind_of(const json& event) {
  const auto args = event.find("args");
  json kind = json::array(
      {text_of(event, "name"), args != event.end() && args->is_object() ? *args : json::object()});
  const auto [entry, is_new] = kind_index_.try_emplace(
      kind.dump(-1, ' ', false, json::error_handler_t::replace), kinds_.size());
  if (is_new) kinds_.push_back(std::move(kind));
  return entry->second;
}

ReportTimeline TraceColumns::finish(const std::string& file, const TimelineLimits& limits) const {
  if (span_count_ == 0)
    throw InputError({.source = file,
                      .path = "/traceEvents",
                      .value = "",
                      .constraint = "must hold a complete event (\"ph\": \"X\"); none is there"});
  std::vector<const std::map<ThreadId, Thread>::value_type*> order;
  std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
  for (const auto& entry : threads_) {
    for (const Span& span : entry.second.spans) origin_ns = std::min(origin_ns, span.begin_ns);
    if (!entry.second.spans.empty()) order.push_back(&entry);
  }
  // Within a process the threads with a sort index go first, by it; the others as they are
  // numbered.
  const auto goes_first = [](const auto* a, const auto* b) {
    if (a->first.first != b->first.first) return a->first.first < b->first.first;
    return std::tuple(!a->second.is_sorted, a->second.sort_index) <
           std::tuple(!b->second.is_sorted, b->second.sort_index);
  };
  std::stable_sort(order.begin(), order.end(), goes_first);
  ReportTimeline timeline;
  timeline.kinds = kinds_;
  timeline.other_events = other_events_;
  for (const auto* entry : order) {
    const auto& [id, thread] = *entry;
    const auto process = process_names_.find(id.first);
    ReportRow& row = timeline.rows.emplace_back();
    row.process = process == process_names_.end() ? "process " + id.first.dump() : process->second;
    row.thread = thread.name.empty() ? "thread " + id.second.dump() : thread.name;
    std::vector<Span> spans = thread.spans;
    // What encloses goes before what it encloses.
    std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
      return std::tuple(a.begin_ns, -a.length_ns) < std::tuple(b.begin_ns, -b.length_ns);
    });
    for (const Span& span : spans) {
      row.begin_ns.push_back(span.begin_ns - origin_ns);
      row.length_ns.push_back(span.length_ns);
      row.kind.push_back(span.kind);
    }
  }
  merge_short(timeline, limits);
  return timeline;
}

}  // namespace forescale
