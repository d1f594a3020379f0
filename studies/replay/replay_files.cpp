#include "studies/replay/replay_files.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <functional>

#include "base/output_file.hpp"
#include "sim/predict.hpp"

namespace forescale {
namespace {

void write(const std::string& file, const std::string& option,
           const std::function<void(std::ostream&)>& content) {
  if (!file.empty()) write_file(file, content, option);
}

// As further ranks behind those of the places.
void add_measured(const MeasuredRun& measured, double begin_s, Timeline& timeline,
                  std::vector<RankPlace>& places) {
  if (measured.timeline.spans().empty()) return;
  const auto first = static_cast<int>(places.size());
  const int node =
      1 +
      std::max_element(places.begin(), places.end(), [](const RankPlace& a, const RankPlace& b) {
        return a.node < b.node;
      })->node;
  for (Span span : measured.timeline.spans()) {
    while (static_cast<int>(places.size()) <= first + span.rank)
      places.push_back({.node = node,
                        .node_name = "measured",
                        .rank_name = fmt::format("rank {} (measured)",
                                                 static_cast<int>(places.size()) - first)});
    span.rank += first;
    span.label = timeline.label(measured.timeline.labels()[static_cast<size_t>(span.label)]);
    span.begin_s += begin_s - measured.begin_s;
    span.end_s += begin_s - measured.begin_s;
    timeline.add(span);
  }
}

void add_path(const CriticalPath& path, Timeline& timeline, std::vector<RankPlace>& places) {
  if (path.parts.empty()) return;
  places.push_back({.node = -2, .node_name = "critical path", .rank_name = "critical path"});
  for (const PathPart& part : path.parts) {
    const CauseLog::Work& work = path.works[static_cast<size_t>(part.work)];
    timeline.add({.rank = static_cast<int>(places.size()) - 1,
                  .track = Track::kPath,
                  .label = timeline.label(fmt::format("rank {} {}: {}{}", part.rank,
                                                      name_of(work.cause), work.label,
                                                      part.is_straggling ? " (straggling)" : "")),
                  .begin_s = part.begin_s,
                  .end_s = part.end_s});
  }
}

void write_csv(const LinkUse::Curves& links, std::ostream& out) {
  out << "begin_s,end_s,link,share\n";
  for (const LinkUse::Curve& curve : links.links) {
    const double width_s = (links.end_s - links.begin_s) / static_cast<double>(curve.shares.size());
    for (size_t i = 0; i < curve.shares.size(); ++i)
      fmt::print(out, "{:.9f},{:.9f},\"{}\",{:.6f}\n",
                 links.begin_s + static_cast<double>(i) * width_s,
                 links.begin_s + static_cast<double>(i + 1) * width_s, curve.link, curve.shares[i]);
  }
}

}  // namespace

void write_replay_files(const ReplayedIteration& iteration, const ReplayFiles& files) {
  std::vector<RankPlace> places = rank_places(iteration.platform, iteration.rank_count);
  iteration.timeline.keep_from(iteration.begin_s);
  add_measured(iteration.measured, iteration.begin_s, iteration.timeline, places);
  add_path(iteration.path, iteration.timeline, places);
  write(files.trace, "--trace", [&](std::ostream& out) {
    write_chrome_trace(iteration.timeline, places, out, iteration.links);
  });
  write(files.paje, "--paje",
        [&](std::ostream& out) { write_paje(iteration.timeline, places, out, iteration.links); });
  write(files.utilisation, "--utilisation",
        [&](std::ostream& out) { write_csv(iteration.links, out); });
}

}  // namespace forescale
