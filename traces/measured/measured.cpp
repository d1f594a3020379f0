#include "traces/measured/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
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
    std::map<int, int> last_call;  // by stream
    for (MeasuredTask& task : rank.tasks) {
      int& last = last_call.try_emplace(task.stream, 0).first->second;
      if (task.call < 0) task.call = last;
      last = std::max(last, task.call);
    }
    rank.notes.push_back(
        fmt::format("{}: the launches of {} of {} tasks are not in the trace: "
                    "taken to be with the task before on the same stream",
                    rank.file, unknown, rank.tasks.size()));
  }
  std::stable_sort(rank.tasks.begin(), rank.tasks.end(),
                   [](const MeasuredTask& a, const MeasuredTask& b) { return a.call < b.call; });
  std::vector<MeasuredCollective> collectives;
  for (MeasuredTask& task : rank.tasks)
    if (task.collective >= 0) {
      collectives.push_back(std::move(rank.collectives[static_cast<size_t>(task.collective)]));
      task.collective = static_cast<int>(collectives.size()) - 1;
    }
  rank.collectives = std::move(collectives);
}

}  // namespace forescale
