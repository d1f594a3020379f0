#include "traces/timeline/cause_log.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace forescale {
namespace {

// Work that the rank itself is late with, not something that it waits for.
bool is_own(Cause cause) { return cause != Cause::kCollective && cause != Cause::kMessage; }

std::string share_of(const PathPart& part, const CauseLog::Work& work) {
  if (part.is_straggling) return fmt::format("straggler: rank {}", part.rank);
  if (work.cause == Cause::kTimer) return work.label;  // what it stands for
  if (work.cause != Cause::kCollective) return name_of(work.cause);
  return work.label.substr(0, work.label.find(' '));  // the operation
}

}  // namespace

const char* name_of(Cause cause) {
  switch (cause) {
    case Cause::kCompute:
      return "compute";
    case Cause::kHost:
      return "host";
    case Cause::kCopy:
      return "copy";
    case Cause::kInput:
      return "input";
    case Cause::kTimer:
      return "timer";
    case Cause::kMessage:
      return "message";
    case Cause::kCollective:
      return "collective";
  }
  return "";
}

CauseLog::Moment CauseLog::add(int rank, double time_s, Moment after, Cause cause,
                               const std::string& label, double late_s) {
  const auto [known, is_new] =
      work_index_.try_emplace({cause, label}, static_cast<int>(works_.size()));
  if (is_new) works_.push_back({cause, label});
  entries_.push_back({time_s, after, late_s, rank, known->second});
  return first_ + static_cast<Moment>(entries_.size()) - 1;
}

void CauseLog::forget_before(double time_s) {
  while (!entries_.empty() && entries_.front().time_s < time_s) {
    entries_.pop_front();
    ++first_;
  }
}

CriticalPath critical_path(const CauseLog& log, CauseLog::Moment last, double begin_s) {
  CriticalPath path{
      .begin_s = begin_s, .end_s = begin_s, .parts = {}, .works = log.works(), .by_cause_s = {}};
  if (!log.knows(last)) return path;
  path.end_s = std::max(begin_s, log.entry(last).time_s);
  double late_from_s = path.end_s;  // what a rank does from then on, others wait for
  double time_s = path.end_s;
  const auto add = [&](double from_s, const CauseLog::Entry& entry, bool is_straggling) {
    if (from_s >= time_s) return;
    path.parts.push_back({from_s, time_s, entry.rank, entry.work, is_straggling});
    time_s = from_s;
  };
  for (CauseLog::Moment moment = last; log.knows(moment) && time_s > begin_s;) {
    const CauseLog::Entry& entry = log.entry(moment);
    const bool is_known = log.knows(entry.after);
    const double since_s = std::max(begin_s, is_known ? log.entry(entry.after).time_s : 0);
    if (is_own(log.works()[static_cast<std::size_t>(entry.work)].cause))
      add(std::clamp(late_from_s, since_s, time_s), entry, true);
    add(since_s, entry, false);
    if (entry.late_s > 0) late_from_s = since_s - entry.late_s;
    if (!is_known) break;
    moment = entry.after;
  }
  std::reverse(path.parts.begin(), path.parts.end());
  for (const PathPart& part : path.parts)
    path.by_cause_s[share_of(part, path.works[static_cast<std::size_t>(part.work)])] +=
        part.end_s - part.begin_s;
  if (time_s > begin_s) path.by_cause_s["start"] = time_s - begin_s;
  return path;
}

}  // namespace forescale
