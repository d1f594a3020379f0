// Chrome trace JSON (the Trace Event Format), as Perfetto and chrome://tracing open it.
//
// A process a node, a thread a rank and track. Slices of one thread must nest, so spans of a track
// that overlap go to further threads of the same name. Times are microseconds.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "traces/timeline/sub_tracks.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {
namespace {

// Whole nanoseconds, so that slices which touch still touch when begin and length are written.
double microseconds(double time_s) { return std::round(time_s * 1e9) / 1e3; }

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

int thread_id(const Span& span, int sub_track) {
  return (span.rank * kTrackCount + static_cast<int>(span.track)) * kSubTracksMax + sub_track + 1;
}

// In percent of the link's bandwidth.
void write_counters(const LinkUse::Curves& links, std::ostream& out) {
  const int process = -1;  // of no node
  if (!links.links.empty())
    fmt::print(out,
               ",\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":"
               "\"links\"}}}}",
               process);
  const auto write = [&](const std::string& link, double time_s, double share) {
    fmt::print(out,
               ",\n{{\"ph\":\"C\",\"name\":{},\"pid\":{},\"ts\":{:.3f},\"args\":{{\"% used\":"
               "{:.1f}}}}}",
               quoted(link), process, microseconds(time_s), 100 * share);
  };
  for (const LinkUse::Curve& curve : links.links) {
    const double width_s = (links.end_s - links.begin_s) / static_cast<double>(curve.shares.size());
    for (size_t i = 0; i < curve.shares.size(); ++i)
      write(curve.link, links.begin_s + static_cast<double>(i) * width_s, curve.shares[i]);
    write(curve.link, links.end_s, 0);
  }
}

}  // namespace

void write_chrome_trace(const Timeline& timeline, const std::vector<RankPlace>& places,
                        std::ostream& out, const LinkUse::Curves& links) {
  out << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  const std::vector<Span>& spans = timeline.spans();
  const std::vector<int> lanes = sub_tracks(spans);
  std::map<int, std::string> node_names;
  for (const RankPlace& place : places) node_names[place.node] = place.node_name;
  std::string separator;
  for (const auto& [node, name] : node_names) {
    fmt::print(out,
               "{}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":{}}}}}",
               separator, node, quoted(name));
    separator = ",\n";
  }
  std::map<int, std::pair<int, std::string>> threads;  // id -> node, name
  for (size_t i = 0; i < spans.size(); ++i) {
    const RankPlace& place = places.at(static_cast<size_t>(spans[i].rank));
    threads.try_emplace(thread_id(spans[i], lanes[i]), place.node,
                        place.rank_name + " " + name_of(spans[i].track));
  }
  for (const auto& [id, thread] : threads)
    fmt::print(out,
               ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{0},\"tid\":{1},\"args\":"
               "{{\"name\":{2}}}}},\n{{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{0},"
               "\"tid\":{1},\"args\":{{\"sort_index\":{1}}}}}",
               thread.first, id, quoted(thread.second));
  for (size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    const int node = places[static_cast<size_t>(span.rank)].node;
    const int thread = thread_id(span, lanes[i]);
    fmt::print(out,
               ",\n{{\"ph\":\"X\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{:.3f},"
               "\"dur\":{:.3f}",
               quoted(timeline.labels()[static_cast<size_t>(span.label)]), node, thread,
               microseconds(span.begin_s), microseconds(span.end_s) - microseconds(span.begin_s));
    if (span.bytes > 0)
      fmt::print(out, ",\"args\":{{\"bytes\":{},\"peer\":{}}}", span.bytes, span.peer);
    out << "}";
    // A send is followed by its receive: an arrow between them.
    const bool is_end = span.track == Track::kReceive && i > 0 &&
                        spans[i - 1].track == Track::kSend && spans[i - 1].rank == span.peer;
    const bool is_begin = span.track == Track::kSend && i + 1 < spans.size() &&
                          spans[i + 1].track == Track::kReceive && spans[i + 1].rank == span.peer;
    if (is_begin || is_end)
      fmt::print(out,
                 ",\n{{\"ph\":\"{}\",\"name\":\"message\",\"cat\":\"message\",\"id\":{},\"pid\":{},"
                 "\"tid\":{},\"ts\":{:.3f}{}}}",
                 is_begin ? "s" : "f", is_begin ? i : i - 1, node, thread,
                 microseconds(is_begin ? span.begin_s : span.end_s),
                 is_begin ? "" : ",\"bp\":\"e\"");
  }
  write_counters(links, out);
  out << "\n]}\n";
}

}  // namespace forescale
