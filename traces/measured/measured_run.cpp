#include "traces/measured/measured_run.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/steady_state.hpp"
#include "traces/measured/dependencies.hpp"
#include "traces/measured/iterations.hpp"
#include "traces/measured/rank_checks.hpp"

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
    const Track track = task.collective >= 0 || task.is_communication ? Track::kCollective
                        : task.is_copy                                ? Track::kCopy
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

// Time in which some collective ran, and in which the rank computed beside it.
struct Overlap {
  std::int64_t communication_ns = 0;
  std::int64_t hidden_ns = 0;
};

Overlap overlap_of(const std::vector<Piece>& pieces, const ClockSpan& within) {
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
    const std::int64_t begin_ns = std::max(piece.span.begin_ns, within.begin_ns);
    const std::int64_t end_ns = std::min(piece.span.end_ns, within.end_ns);
    if (begin_ns >= end_ns) continue;
    edges.push_back({begin_ns, communicates, computes});
    edges.push_back({end_ns, -communicates, -computes});
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

std::string label_of(const MeasuredRank& rank, const Piece& piece) {
  if (piece.task == nullptr) return "host";
  if (piece.task->collective >= 0) {
    const auto at = static_cast<std::size_t>(piece.task->collective);
    return rank.collectives[at].is_message ? "message" : name_of(rank.collectives[at].op);
  }
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
      if (what.is_message) continue;
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

std::vector<std::vector<double>> own_times_s(const std::vector<MeasuredRank>& ranks, int world) {
  std::map<std::string, std::vector<double>> least;  // by group: of its n-th collective
  const auto for_each = [&](const auto& take) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      std::map<std::string, std::size_t> seen;
      for (const MeasuredTask& task : ranks[i].tasks)
        for (const int collective : collectives_of(task)) {
          const auto at = static_cast<std::size_t>(collective);
          const std::string key = group_key(ranks[i].collectives[at], world);
          take(i, at, least[key], seen[key]++, seconds(task.span.length_ns()));
        }
    }
  };
  for_each([](std::size_t, std::size_t, std::vector<double>& of_group, std::size_t number,
              double time_s) {
    if (number == of_group.size()) of_group.push_back(time_s);
    of_group[number] = std::min(of_group[number], time_s);
  });
  std::vector<std::vector<double>> times_s;
  for (const MeasuredRank& rank : ranks) times_s.emplace_back(rank.collectives.size());
  for_each([&](std::size_t rank, std::size_t collective, const std::vector<double>& of_group,
               std::size_t number, double) { times_s[rank][collective] = of_group[number]; });
  return times_s;
}

MeasuredRun measured_run(const std::vector<MeasuredRank>& ranks,
                         const std::vector<std::int64_t>& offsets_ns, int world) {
  MeasuredRun run;
  run.calls = calls_of(ranks, world);
  run.world = world;
  std::vector<MeasuredIterations> iterations;
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    iterations.push_back(iterations_of(ranks[i]));
    first_ns = std::min(first_ns, iterations.back().begin_ns - offsets_ns[i]);
  }
  std::vector<std::vector<double>> ends_s;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::vector<double>& ends = ends_s.emplace_back();
    for (const std::int64_t end_ns : iterations[i].ends_ns)
      ends.push_back(seconds(end_ns - offsets_ns[i] - first_ns));
  }
  const SteadyState steady =
      steady_state(ends_s, std::vector<std::int64_t>(ranks.size(), 1), false);
  const std::size_t count = steady.periods_s.size();
  run.step_s = steady.period_s;
  run.periods_s = steady.periods_s;
  run.counts_from = steady.begin;
  const auto span_of = [&](std::size_t rank, std::size_t from) {
    const MeasuredIterations& of_rank = iterations[rank];
    return ClockSpan{from == 0 ? of_rank.begin_ns : of_rank.ends_ns[from - 1],
                     of_rank.ends_ns.back()};
  };
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const MeasuredRank& rank = ranks[i];
    if (run.gpu.empty()) run.gpu = rank.gpu;
    const std::vector<Piece> pieces = pieces_of(rank);
    const Overlap overlap = overlap_of(pieces, span_of(i, steady.begin));
    const double parts =
        static_cast<double>(count - steady.begin) * static_cast<double>(ranks.size());
    run.communication_s += seconds(overlap.communication_ns) / parts;
    run.hidden_s += seconds(overlap.hidden_ns) / parts;
    const auto on_clock = [&](std::int64_t time_ns) { return seconds(time_ns - offsets_ns[i]); };
    const ClockSpan last = span_of(i, count - 1);
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
  return run;
}

}  // namespace forescale
