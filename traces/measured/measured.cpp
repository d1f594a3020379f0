#include "traces/measured/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace forescale {
namespace {

// Call 0 becomes one that launches what nothing else did.
void add_first_call(MeasuredRank& rank, std::int64_t begin_ns) {
  if (!rank.calls.empty()) begin_ns = std::min(begin_ns, rank.calls.front().span.begin_ns);
  rank.calls.insert(rank.calls.begin(),
                    {.span = {begin_ns, begin_ns}, .kind = HostCall::Kind::kLaunch});
  for (MeasuredTask& task : rank.tasks)
    if (task.call >= 0) ++task.call;
}

// The last launch that began by then.
int last_call_before(const MeasuredRank& rank, const MeasuredTask& task) {
  auto after = std::upper_bound(
      rank.calls.begin(), rank.calls.end(), task.span.begin_ns,
      [](std::int64_t time_ns, const HostCall& call) { return time_ns < call.span.begin_ns; });
  while (after != rank.calls.begin())
    if (const auto call = --after; call->kind == HostCall::Kind::kLaunch)
      return static_cast<int>(call - rank.calls.begin());
  return 0;
}

}  // namespace

void order_tasks(MeasuredRank& rank) {
  const auto by_begin = [](const MeasuredTask& a, const MeasuredTask& b) {
    return std::tuple(a.span.begin_ns, a.span.end_ns) < std::tuple(b.span.begin_ns, b.span.end_ns);
  };
  std::stable_sort(rank.tasks.begin(), rank.tasks.end(), by_begin);
  const auto unknown = std::count_if(rank.tasks.begin(), rank.tasks.end(),
                                     [](const MeasuredTask& task) { return task.call < 0; });
  if (unknown > 0) {
    add_first_call(rank, rank.tasks.front().span.begin_ns);
    std::map<int, int> next_call;  // by stream
    std::vector<int> at_most(rank.tasks.size(), std::numeric_limits<int>::max());
    for (std::size_t i = rank.tasks.size(); i-- > 0;) {
      const MeasuredTask& task = rank.tasks[i];
      if (task.call >= 0)
        next_call[task.stream] = task.call;
      else if (const auto next = next_call.find(task.stream); next != next_call.end())
        at_most[i] = next->second;
    }
    std::map<int, int> last_call;  // by stream
    std::set<int> known;           // streams with a launch so far
    int under_way = 0;             // collectives, when the trace begins
    for (std::size_t i = 0; i < rank.tasks.size(); ++i) {
      MeasuredTask& task = rank.tasks[i];
      int& last = last_call.try_emplace(task.stream, 0).first->second;
      if (task.call < 0) {
        const bool is_under_way = !known.contains(task.stream) && next_call.contains(task.stream);
        if (task.collective >= 0 && is_under_way) {
          task.collective = -1;
          task.is_communication = true;
          ++under_way;
        }
        task.call = std::max(last, std::min(at_most[i], last_call_before(rank, task)));
      } else {
        known.insert(task.stream);
      }
      last = std::max(last, task.call);
    }
    rank.notes.push_back(
        fmt::format("{}: the launches of {} of {} tasks are not in the trace: taken to be just "
                    "before they began, and in the order of their stream",
                    rank.file, unknown, rank.tasks.size()));
    if (under_way > 0)
      rank.notes.push_back(fmt::format(
          "{}: {} collectives were launched before the trace begins: they keep their measured time",
          rank.file, under_way));
  }
  std::stable_sort(rank.tasks.begin(), rank.tasks.end(),
                   [](const MeasuredTask& a, const MeasuredTask& b) { return a.call < b.call; });
  renumber_collectives(rank);
}

void renumber_collectives(MeasuredRank& rank) {
  std::vector<MeasuredCollective> collectives;
  for (MeasuredTask& task : rank.tasks) {
    if (task.collective < 0) continue;
    const auto first = static_cast<int>(collectives.size());
    for (const int collective : collectives_of(task))
      collectives.push_back(std::move(rank.collectives[static_cast<size_t>(collective)]));
    task.collective = first;
  }
  rank.collectives = std::move(collectives);
}

}  // namespace forescale
