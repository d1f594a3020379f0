#include "cli/report/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/error.hpp"

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

}  // namespace

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

json TraceColumns::finish(const std::string& file) const {
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
  json rows = json::array();
  for (const auto* entry : order) {
    const auto& [id, thread] = *entry;
    const auto process = process_names_.find(id.first);
    json row = {{"process",
                 process == process_names_.end() ? "process " + id.first.dump() : process->second},
                {"thread", thread.name.empty() ? "thread " + id.second.dump() : thread.name}};
    std::vector<Span> spans = thread.spans;
    // What encloses goes before what it encloses.
    std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
      return std::tuple(a.begin_ns, -a.length_ns) < std::tuple(b.begin_ns, -b.length_ns);
    });
    std::vector<std::int64_t> begin;
    std::vector<std::int64_t> length;
    std::vector<std::size_t> kind;
    std::int64_t before_ns = origin_ns;
    for (const Span& span : spans) {
      begin.push_back(span.begin_ns - before_ns);
      length.push_back(span.length_ns);
      kind.push_back(span.kind);
      before_ns = span.begin_ns;
    }
    row["begin"] = std::move(begin);
    row["length"] = std::move(length);
    row["kind"] = std::move(kind);
    rows.push_back(std::move(row));
  }
  return {{"unit", "ns"}, {"kinds", kinds_}, {"other_events", other_events_}, {"rows", rows}};
}

}  // namespace forescale
