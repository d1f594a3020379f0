#include "traces/measured/measured_run.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "traces/measured/dependencies.hpp"

namespace forescale {
namespace {

// Something that a rank did, on its own clock.
struct Piece {
  ClockSpan span;
  Track track;
  const MeasuredTask* task = nullptr;  // null: the host's own work
};

// A host computes between its calls, until the next one and from when it goes on.
std::vector<Piece> pieces_of(const MeasuredRank& rank) {
  std::vector<Piece> pieces;
  for (const MeasuredTask& task : rank.tasks) {
    const Track track = task.collective >= 0 ? Track::kCollective
                        : task.is_copy       ? Track::kCopy
                                             : Track::kCompute;
    pieces.push_back({task.span, track, &task});
  }
  if (rank.calls.empty()) return pieces;
  const Dependencies dependencies = dependencies_of(rank);
  const Track track = rank.has_gpu ? Track::kHost : Track::kCompute;
  std::int64_t now_ns = rank.calls.front().span.begin_ns;
  if (!rank.steps.empty()) now_ns = std::min(now_ns, rank.steps.front().begin_ns);
  for (std::size_t i = 0; i < rank.calls.size(); ++i) {
    const std::int64_t call_ns = rank.calls[i].span.begin_ns;
    if (call_ns > now_ns) pieces.push_back({{now_ns, call_ns}, track});
    now_ns = std::max({now_ns, call_ns, dependencies.resumes_ns[i]});
  }
  return pieces;
}

ClockSpan extent_of(const std::vector<Piece>& pieces) {
  if (pieces.empty()) return {};
  ClockSpan extent = pieces.front().span;
  for (const Piece& piece : pieces) {
    extent.begin_ns = std::min(extent.begin_ns, piece.span.begin_ns);
    extent.end_ns = std::max(extent.end_ns, piece.span.end_ns);
  }
  return extent;
}

// Time in which some collective ran, and in which the rank computed beside it.
struct Overlap {
  std::int64_t communication_ns = 0;
  std::int64_t hidden_ns = 0;
};

Overlap overlap_of(const std::vector<Piece>& pieces) {
  struct Edge {
    std::int64_t time_ns;
    int communicates;
    int computes;
  };
  std::vector<Edge> edges;
  for (const Piece& piece : pieces) {
    const int communicates = piece.track == Track::kCollective ? 1 : 0;
    const int computes = piece.track == Track::kCompute ? 1 : 0;
    if (communicates + computes == 0) continue;
    edges.push_back({piece.span.begin_ns, communicates, computes});
    edges.push_back({piece.span.end_ns, -communicates, -computes});
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.time_ns < b.time_ns; });
  Overlap overlap;
  int communicating = 0;
  int computing = 0;
  std::int64_t since_ns = 0;
  for (const Edge& edge : edges) {
    if (communicating > 0) overlap.communication_ns += edge.time_ns - since_ns;
    if (communicating > 0 && computing > 0) overlap.hidden_ns += edge.time_ns - since_ns;
    since_ns = edge.time_ns;
    communicating += edge.communicates;
    computing += edge.computes;
  }
  return overlap;
}

// From the end of the one before, in which the host may have been ahead of its GPU.
void add_steps(const MeasuredRank& rank, const ClockSpan& extent,
               std::vector<std::int64_t>& lengths) {
  if (rank.steps.empty()) lengths.push_back(extent.length_ns());
  if (rank.steps.size() == 1) lengths.push_back(rank.steps.front().length_ns());
  for (std::size_t i = 1; i < rank.steps.size(); ++i)
    lengths.push_back(rank.steps[i].end_ns - rank.steps[i - 1].end_ns);
}

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string label_of(const MeasuredRank& rank, const Piece& piece) {
  if (piece.task == nullptr) return "host";
  if (piece.task->collective >= 0)
    return name_of(rank.collectives[static_cast<std::size_t>(piece.task->collective)].op);
  const auto label = static_cast<std::size_t>(piece.task->label);
  return label < rank.labels.size() ? rank.labels[label] : "";
}

// The n-th collective of a group is the same on all its ranks.
std::vector<MeasuredCall> calls_of(const std::vector<MeasuredRank>& ranks, int world) {
  std::map<std::pair<std::string, std::vector<int>>, std::vector<MeasuredCall>> by_group;
  for (const MeasuredRank& rank : ranks) {
    std::map<const std::vector<MeasuredCall>*, std::size_t> seen;
    for (const MeasuredTask& task : rank.tasks) {
      if (task.collective < 0) continue;
      const MeasuredCollective& what = rank.collectives[static_cast<std::size_t>(task.collective)];
      const bool is_of_all =
          what.ranks.empty() || what.ranks.size() == static_cast<std::size_t>(world);
      std::vector<MeasuredCall>& calls =
          by_group[{what.group, is_of_all ? std::vector<int>{} : what.ranks}];
      const std::size_t number = seen[&calls]++;
      const double time_s = seconds(task.span.length_ns());
      if (number == calls.size())
        calls.push_back({.op = what.op,
                         .bytes = what.bytes,
                         .ranks = is_of_all ? world : static_cast<int>(what.ranks.size()),
                         .traced_ranks = 0,
                         .on_host = !rank.has_gpu,
                         .time_s = time_s});
      calls[number].time_s = std::min(calls[number].time_s, time_s);
      ++calls[number].traced_ranks;
    }
  }
  std::vector<MeasuredCall> all;
  for (const auto& [group, calls] : by_group) all.insert(all.end(), calls.begin(), calls.end());
  return all;
}

}  // namespace

MeasuredRun measured_run(const std::vector<MeasuredRank>& ranks,
                         const std::vector<std::int64_t>& offsets_ns, int world) {
  MeasuredRun run;
  run.calls = calls_of(ranks, world);
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const MeasuredRank& rank = ranks[i];
    if (run.gpu.empty()) run.gpu = rank.gpu;
    const std::vector<Piece> pieces = pieces_of(rank);
    const ClockSpan extent = extent_of(pieces);
    const ClockSpan last = rank.steps.empty() ? extent : rank.steps.back();
    const double count = static_cast<double>(std::max<std::size_t>(rank.steps.size(), 1)) *
                         static_cast<double>(ranks.size());
    const Overlap overlap = overlap_of(pieces);
    run.communication_s += seconds(overlap.communication_ns) / count;
    run.hidden_s += seconds(overlap.hidden_ns) / count;
    add_steps(rank, extent, lengths);
    const auto on_clock = [&](std::int64_t time_ns) { return seconds(time_ns - offsets_ns[i]); };
    run.begin_s = i == 0 ? on_clock(last.begin_ns) : std::min(run.begin_s, on_clock(last.begin_ns));
    run.end_s = i == 0 ? on_clock(last.end_ns) : std::max(run.end_s, on_clock(last.end_ns));
    for (const Piece& piece : pieces) {
      if (piece.span.end_ns <= last.begin_ns || piece.span.begin_ns >= last.end_ns) continue;
      run.timeline.add({.rank = rank.rank,
                        .track = piece.track,
                        .label = run.timeline.label(label_of(rank, piece)),
                        .begin_s = on_clock(piece.span.begin_ns),
                        .end_s = on_clock(piece.span.end_ns)});
    }
  }
  if (!lengths.empty()) run.step_s = seconds(median(std::move(lengths)));
  return run;
}

}  // namespace forescale
