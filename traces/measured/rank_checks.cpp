#include "traces/measured/rank_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/error.hpp"
#include "traces/program/action.hpp"

namespace forescale {
namespace {

void check_groups(const std::vector<MeasuredRank>& ranks, int world) {
  for (const MeasuredRank& rank : ranks)
    for (const MeasuredCollective& collective : rank.collectives) {
      const std::set<int> distinct(collective.ranks.begin(), collective.ranks.end());
      if (distinct.size() < collective.ranks.size() ||
          (!distinct.empty() && (*distinct.begin() < 0 || *distinct.rbegin() >= world)))
        refuse(rank.file, collective.group,
               fmt::format("is a group whose ranks must be distinct and below {}", world));
    }
}

void check_times(const std::vector<MeasuredRank>& ranks) {
  for (const MeasuredRank& rank : ranks) {
    if (rank.steps.size() != ranks.front().steps.size())
      refuse(rank.file, fmt::format("{} steps", rank.steps.size()),
             fmt::format("are in it, {} has {}: the traces must cover the same steps",
                         ranks.front().file, ranks.front().steps.size()));
    std::int64_t begin = std::numeric_limits<std::int64_t>::max();
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
    const auto take = [&](const ClockSpan& span) {
      begin = std::min(begin, span.begin_ns);
      end = std::max(end, span.end_ns);
    };
    for (const HostCall& call : rank.calls) take(call.span);
    for (const MeasuredTask& task : rank.tasks) take(task.span);
    for (const ClockSpan& step : rank.steps) take(step);
    if (begin <= end && end - begin > kExtent_ns_max)
      refuse(rank.file, "", "covers more than 1e9 s");
  }
}

void check_sizes(const std::vector<MeasuredRank>& ranks) {
  for (const MeasuredRank& rank : ranks)
    for (const MeasuredCollective& collective : rank.collectives)
      if (collective.bytes > kProgramBytesMax)
        refuse(rank.file, fmt::format("{} of {} bytes", name_of(collective.op), collective.bytes),
               "must have at most 2^50 bytes");
  std::map<std::string, int> without;
  for (const MeasuredRank& rank : ranks)
    for (const MeasuredCollective& collective : rank.collectives)
      if (collective.bytes < 0) ++without[size_name(collective)];
  if (without.empty()) return;
  std::string counts;
  for (const auto& [op, count] : without)
    counts += fmt::format("{}{} of {}", counts.empty() ? "" : ", ", count, op);
  refuse(ranks.front().file, counts,
         fmt::format("without a size: give the execution trace of the same run behind the "
                     "timeline, profile with record_shapes=True, or say how large each is (the "
                     "whole vector of a rank), --size {0}=4MiB, or that it keeps its measured "
                     "time, --size {0}=keep",
                     without.begin()->first));
}

void compare(const MeasuredRank& a, const std::vector<const MeasuredCollective*>& of_a,
             const MeasuredRank& b, const std::vector<const MeasuredCollective*>& of_b) {
  for (size_t n = 0; n < std::min(of_a.size(), of_b.size()); ++n)
    if (of_a[n]->op != of_b[n]->op || of_a[n]->bytes != of_b[n]->bytes)
      refuse(b.file, fmt::format("{} of {} bytes", name_of(of_b[n]->op), of_b[n]->bytes),
             fmt::format("is collective {} of its group; in {} it is {} of {} bytes", n, a.file,
                         name_of(of_a[n]->op), of_a[n]->bytes));
  if (of_a.size() != of_b.size())
    refuse(b.file, fmt::format("{} collectives", of_b.size()),
           fmt::format("of a group of which {} has {}: the traces must cover the same steps",
                       a.file, of_a.size()));
}

// The n-th collective of a group is the same one on all its ranks, and every one of them has it.
void check_agreement(const std::vector<MeasuredRank>& ranks, int world) {
  using Sequence = std::vector<const MeasuredCollective*>;
  std::map<std::string, std::pair<const MeasuredRank*, Sequence>> first;
  std::vector<std::map<std::string, Sequence>> by_rank;
  for (const MeasuredRank& rank : ranks) {
    std::map<std::string, Sequence>& mine = by_rank.emplace_back();
    for (const MeasuredCollective& collective : rank.collectives)
      mine[group_key(collective, world)].push_back(&collective);
    for (const auto& [key, sequence] : mine) first.try_emplace(key, &rank, sequence);
  }
  for (const auto& [key, reference] : first) {
    const std::vector<int>& members = reference.second.front()->ranks;
    for (size_t i = 0; i < ranks.size(); ++i) {
      const bool is_member =
          is_of_all(*reference.second.front(), world) ||
          std::find(members.begin(), members.end(), ranks[i].rank) != members.end();
      if (is_member) {
        compare(*reference.first, reference.second, ranks[i], by_rank[i][key]);
      } else if (by_rank[i].contains(key)) {
        refuse(ranks[i].file, key, "is a group that this rank is not in");
      }
    }
  }
}

}  // namespace

// One that its ranks share; the ranks themselves where they are not all.
std::string group_key(const MeasuredCollective& collective, int world) {
  if (collective.ranks.empty() || static_cast<int>(collective.ranks.size()) == world)
    return "all " + collective.group;
  std::string key = collective.group;
  for (const int rank : collective.ranks) key += fmt::format(" {}", rank);
  return key;
}

std::string size_name(const MeasuredCollective& collective) {
  return collective.kernel.empty() ? name_of(collective.op) : collective.kernel;
}

bool is_of_all(const MeasuredCollective& collective, int world) {
  return collective.ranks.empty() || static_cast<int>(collective.ranks.size()) == world;
}

void check_ranks(const std::vector<MeasuredRank>& ranks, int world) {
  check_groups(ranks, world);
  check_times(ranks);
  check_sizes(ranks);
  check_agreement(ranks, world);
}

}  // namespace forescale
