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

// Along each of the dimensions.
std::vector<int> place_in(const std::vector<int>& sizes, int rank) {
  std::vector<int> place;
  for (const int size : sizes) {
    place.push_back(rank % size);
    rank /= size;
  }
  return place;
}

int rank_in(const std::vector<int>& sizes, const std::vector<int>& place) {
  int rank = 0;
  for (std::size_t d = sizes.size(); d-- > 0;) rank = rank * sizes[d] + place[d];
  return rank;
}

}  // namespace

GroupGrid::GroupGrid(const std::vector<std::vector<int>>& groups, int rank, int world,
                     const std::string& file) {
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
  if (*cuts.begin() < 1)  // of a rank that is in its group twice
    refuse_group(file, groups.front(), needed);
  for (auto cut = std::next(cuts.begin()); cut != cuts.end(); ++cut) {
    if (*cut % *std::prev(cut) != 0 || *cut > world)
      refuse_group(file, groups.empty() ? std::vector<int>{} : groups.front(), needed);
    traced_.push_back(*cut / *std::prev(cut));
  }
  sizes_ = traced_;
  for (const std::vector<int>& group : groups) {
    // All places in the dimensions in which they differ.
    std::size_t ranks = 1;
    const std::vector<bool> own = differs(group);
    for (std::size_t d = 0; d < sizes_.size(); ++d)
      if (own[d]) ranks *= static_cast<std::size_t>(sizes_[d]);
    if (ranks != group.size() || group_of(group, rank) != group) refuse_group(file, group, needed);
  }
}

std::vector<bool> GroupGrid::differs(const std::vector<int>& group) const {
  const std::vector<int> first = place_in(traced_, group.front());
  std::vector<bool> found(traced_.size(), false);
  for (const int member : group) {
    const std::vector<int> place = place_in(traced_, member);
    for (std::size_t d = 0; d < traced_.size(); ++d) found[d] = found[d] || place[d] != first[d];
  }
  return found;
}

bool GroupGrid::resize(const std::vector<int>& group, int size) {
  const std::vector<bool> own = differs(group);
  int inner = 1;
  std::size_t outermost = sizes_.size();
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    if (!own[d]) continue;
    if (outermost < sizes_.size()) inner *= sizes_[outermost];
    outermost = d;
  }
  if (outermost == sizes_.size() || size < inner || size % inner != 0) return false;
  sizes_[outermost] = size / inner;
  return true;
}

int GroupGrid::world() const {
  int world = 1;
  for (const int size : sizes_) world *= size;
  return world;
}

std::vector<int> GroupGrid::group_of(const std::vector<int>& group, int rank) const {
  const std::vector<bool> own = differs(group);
  const std::vector<int> here = place_in(sizes_, rank);
  std::vector<int> ranks;
  const auto add = [&](std::vector<int> place) {
    for (std::size_t d = 0; d < sizes_.size(); ++d)
      if (!own[d]) place[d] = here[d];
    ranks.push_back(rank_in(sizes_, place));
  };
  if (sizes_ == traced_) {
    for (const int member : group) add(place_in(traced_, member));
    return ranks;
  }
  // In the order of their numbers: those in which all else is 0 name them.
  for (int other = 0; other < world(); ++other) {
    const std::vector<int> place = place_in(sizes_, other);
    bool is_first = true;
    for (std::size_t d = 0; d < sizes_.size(); ++d)
      is_first = is_first && (own[d] || place[d] == 0);
    if (is_first) add(place);
  }
  return ranks;
}

std::string GroupGrid::text() const { return fmt::format("{}", fmt::join(sizes_, " x ")); }

}  // namespace forescale
