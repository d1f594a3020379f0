// Parts of a call that do the same on GPUs and links that are alike, as NCCL's rings that start at
// each GPU of a node do: one of them stands for all.
//
// Turning the GPUs of every node takes one part to another, and what they use with it. At every
// moment as many messages of all parts together cross each of the links that are turned into each
// other, so one of these stands for them: with as much of its capacity as messages of one part are
// of all that cross it.
#pragma once

#include <map>
#include <vector>

#include "sim/engine/lanes.hpp"

namespace forescale {

struct AlikeParts {
  struct Standing {
    Resource resource;
    double share = 1;  // of its capacity
  };

  int count = 1;        // of parts
  bool is_even = true;  // else some have an element more, and all take a little else
  // Of what the first part's messages cross; others, of connections and channels, are a part's own.
  std::map<Resource, Standing> standing = {};
  std::vector<int> ranks = {};  // by rank, the one whose proxy thread and timeline are its own
};

}  // namespace forescale
