// Ranks of the world in the order of a communicator, and how many operations were started on it.
#pragma once

#include <vector>

#include "calibrate/bench/worker/mpi_rank.hpp"
#include "models/group_shape.hpp"

namespace forescale {

struct MpiRank::Group {
  std::vector<int> ranks;  // by member
  GroupShape shape;
  int member = 0;         // this rank
  std::int64_t next = 0;  // number of its next operation
};

}  // namespace forescale
