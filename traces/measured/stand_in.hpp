// Ranks that were not traced do what one that was did: alone for all, or several in turns; with the
// process groups of their own place, and what if those were of other sizes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/worker.hpp"
#include "traces/formats/trace_format.hpp"
#include "traces/measured/group_grid.hpp"
#include "traces/measured/measured.hpp"

namespace forescale {

class StandIn {
 public:
  // Of `ranks` out of `traced_world`, for a program of `world`. InputError where nobody can stand
  // for the others, and for --group and --split that mean nothing here.
  StandIn(const std::vector<MeasuredRank>& ranks, int traced_world, int world,
          const ImportOptions& options);

  int world() const { return world_; }
  const std::vector<std::string>& notes() const { return notes_; }
  // Whether one rank's groups stand for those of all.
  bool places_groups() const { return grid_.has_value(); }

  // Kernels that splits divide take so many times as long.
  double kernel_split() const;
  // Of a collective in the program.
  std::int64_t bytes(const MeasuredCollective& collective) const;
  int root(const MeasuredCollective& collective) const;
  // By rank of the program; of a collective of some ranks, where places_groups().
  std::vector<RankGroup> groups(const MeasuredCollective& collective) const;

 private:
  void resize_groups(const MeasuredRank& rank, const ImportOptions& options);
  std::vector<int> resize(const MeasuredRank& rank, const std::string& name, int size,
                          const char* option);

  int traced_world_;
  int world_;
  std::vector<std::string> notes_;
  std::optional<GroupGrid> grid_;
  std::vector<std::pair<std::vector<int>, double>> splits_;  // group, and what is left of a kernel
};

}  // namespace forescale
