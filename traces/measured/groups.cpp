#include "traces/measured/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"

namespace forescale {
namespace {

std::string name_of_group(const std::string& group) {
  return group.empty() ? "a group without a name" : fmt::format("group \"{}\"", group);
}

}  // namespace

int least_world(const MeasuredRank& rank) {
  int world = 0;
  for (const MeasuredCollective& collective : rank.collectives) {
    world = std::max(world, collective.group_size);
    for (const int member : collective.ranks) world = std::max(world, member + 1);
  }
  return world;
}

void resolve_groups(MeasuredRank& rank, int world) {
  std::map<std::tuple<std::string, std::size_t, int>, int> neighbours;  // group, ranks named, size
  std::map<std::tuple<std::string, std::size_t, int>, int> kept;
  for (MeasuredCollective& collective : rank.collectives) {
    const int size = collective.group_size;
    const std::size_t named = collective.ranks.size();
    if (size <= 0 || static_cast<std::size_t>(size) == named) continue;
    const bool is_of_all = named == 0 || named == static_cast<std::size_t>(world);
    if (named == 0 && size == world) continue;
    if (!is_of_all || size > world) {
      ++kept[{collective.group, named, size}];
      continue;
    }
    if (world % size != 0)
      refuse(rank.file, name_of_group(collective.group),
             fmt::format("is of {} ranks of {}, and the trace does not say which: give each "
                         "rank's trace with \"Process Group Ranks\"",
                         size, world));
    const int first = rank.rank / size * size;
    collective.ranks.clear();
    for (int member = 0; member < size; ++member) collective.ranks.push_back(first + member);
    ++neighbours[{collective.group, named, size}];
  }
  for (const auto& [what, count] : neighbours) {
    const auto& [group, named, size] = what;
    rank.notes.push_back(fmt::format(
        "{}: {} collectives of {} are of {} ranks, {}: taken to be those next to each other",
        rank.file, count, name_of_group(group), size,
        named == 0 ? "which the trace does not name"
                   : fmt::format("as their sizes say, where the trace names {}", named)));
  }
  for (const auto& [what, count] : kept) {
    const auto& [group, named, size] = what;
    rank.notes.push_back(
        fmt::format("{}: the trace contradicts itself: {} collectives of {} have {} ranks by its "
                    "list, and {} by their sizes: taken as listed",
                    rank.file, count, name_of_group(group), named, size));
  }
}

}  // namespace forescale
