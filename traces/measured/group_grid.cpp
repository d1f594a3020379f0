#include "traces/measured/group_grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"

namespace forescale {
namespace {

[[noreturn]] void refuse_group(const std::string& file, const std::vector<int>& group,
                               const std::string& constraint) {
  const std::vector<int> begin(group.begin(), group.begin() + std::min<long>(8, group.size()));
  refuse(file, fmt::format("[{}{}]", fmt::join(begin, ", "), group.size() > 8 ? ", ..." : ""),
         constraint);
}

// Where dimensions of a grid begin and end that a group is made of: strides, and strides times
// lengths. Members differ by sums of multiples.
std::set<int> cuts_of(const std::vector<int>& sorted) {
  std::set<int> cuts;
  std::vector<int> offsets;
  for (const int member : sorted) offsets.push_back(member - sorted.front());
  std::size_t covered = 1;  // members of the dimensions so far
  while (covered < offsets.size()) {
    const int stride = offsets[covered];
    std::size_t length = 1;
    while (length * covered < offsets.size() &&
           offsets[length * covered] == static_cast<int>(length) * stride)
      ++length;
    cuts.insert(stride);
    cuts.insert(stride * static_cast<int>(length));
    if (length < 2) break;  // no grid: seen when the group is made anew
    covered *= length;
  }
  return cuts;
}

}  // namespace

GroupGrid::GroupGrid(const std::vector<std::vector<int>>& groups, int rank, int world,
                     const std::string& file)
    : traced_(rank) {
  std::set<int> cuts{1, world};
  for (const std::vector<int>& group : groups) {
    if (std::find(group.begin(), group.end(), rank) == group.end())
      refuse_group(file, group, fmt::format("is a group of rank {}, which is not in it", rank));
    std::vector<int> sorted = group;
    std::sort(sorted.begin(), sorted.end());
    const std::set<int> own = cuts_of(sorted);
    cuts.insert(own.begin(), own.end());
  }
  const std::string needed = fmt::format(
      "is no part of a grid of {} ranks that has all groups of the trace: every rank's "
      "trace is needed",
      world);
  for (auto cut = std::next(cuts.begin()); cut != cuts.end(); ++cut) {
    if (*cut % *std::prev(cut) != 0 || *cut > world)
      refuse_group(file, groups.empty() ? std::vector<int>{} : groups.front(), needed);
    sizes_.push_back(*cut / *std::prev(cut));
  }
  for (const std::vector<int>& group : groups) {
    std::vector<int> again = group_of(group, rank);
    if (again != group) refuse_group(file, group, needed);
    // All places in the dimensions in which they differ.
    std::size_t ranks = 1;
    const std::vector<int> first = place_of(group.front());
    for (std::size_t d = 0; d < sizes_.size(); ++d)
      if (std::any_of(group.begin(), group.end(),
                      [&](int member) { return place_of(member)[d] != first[d]; }))
        ranks *= static_cast<std::size_t>(sizes_[d]);
    if (ranks != group.size()) refuse_group(file, group, needed);
  }
}

std::vector<int> GroupGrid::place_of(int rank) const {
  std::vector<int> place;
  for (const int size : sizes_) {
    place.push_back(rank % size);
    rank /= size;
  }
  return place;
}

int GroupGrid::rank_at(const std::vector<int>& place) const {
  int rank = 0;
  for (std::size_t d = sizes_.size(); d-- > 0;) rank = rank * sizes_[d] + place[d];
  return rank;
}

std::vector<int> GroupGrid::group_of(const std::vector<int>& group, int rank) const {
  const std::vector<int> first = place_of(group.front());
  const std::vector<int> own = place_of(rank);
  std::vector<bool> differs(sizes_.size(), false);
  for (const int member : group) {
    const std::vector<int> place = place_of(member);
    for (std::size_t d = 0; d < sizes_.size(); ++d)
      if (place[d] != first[d]) differs[d] = true;
  }
  std::vector<int> ranks;
  for (const int member : group) {
    std::vector<int> place = place_of(member);
    for (std::size_t d = 0; d < sizes_.size(); ++d)
      if (!differs[d]) place[d] = own[d];
    ranks.push_back(rank_at(place));
  }
  return ranks;
}

std::string GroupGrid::text() const { return fmt::format("{}", fmt::join(sizes_, " x ")); }

}  // namespace forescale
