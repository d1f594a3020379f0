// Parts of a call that do the same on GPUs and links that are alike, as NCCL's rings that start at
// each GPU of a node do: one of them stands for all. Or the first few each for as many, as of the
// 16 of a rack's 72 GPUs, which start four or five GPUs from each other, two stand for eight each:
// itself and every second after it.
//
// Turning the GPUs of every node takes one part to another, and what they use with it. At every
// moment as many messages of all these parts together cross each of the links that are turned into
// each other, so one of these stands for them: with as much of its capacity as messages of one part
// are of all that cross it.
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

  int count = 1;        // of parts for which one stands
  bool is_even = true;  // else some have an element more, and all take a little else
  // Of what messages of those that stand for others cross; what is not here, of connections and
  // channels, is a part's own.
  std::map<Resource, Standing> standing = {};
  std::vector<int> ranks = {};  // by rank, the one whose proxy thread and timeline are its own
};

}  // namespace forescale
