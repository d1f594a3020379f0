// The grid of ranks that one rank's process groups are parts of: which ranks the same groups of
// every other rank have.
#pragma once

#include <string>
#include <vector>

namespace forescale {

// The ranks of a world, numbered along dimensions; the first one's neighbours are 1 apart. A group
// is all ranks that differ in some dimensions only, so each rank has one of that kind.
class GroupGrid {
 public:
  // The coarsest grid that has all `groups`, each one of rank `rank` of `world`. InputError of
  // `file` with the group that is none of a grid, or does not have the rank.
  GroupGrid(const std::vector<std::vector<int>>& groups, int rank, int world,
            const std::string& file);

  // Another number of ranks in the outermost dimension of that group, so that it has `size`. False
  // where the ranks of its inner dimensions do not divide `size`.
  bool resize(const std::vector<int>& group, int size);

  // Of another rank: what `group` is of the traced one, in the same order where it has as many.
  std::vector<int> group_of(const std::vector<int>& group, int rank) const;
  int world() const;
  std::string text() const;  // "4 x 2 x 8"

 private:
  // In which dimensions ranks of a group differ.
  std::vector<bool> differs(const std::vector<int>& group) const;

  std::vector<int> traced_;  // sizes of the dimensions, as traced
  std::vector<int> sizes_;   // as they are now
};

}  // namespace forescale
