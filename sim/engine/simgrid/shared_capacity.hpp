// Links and processors as this world counts them: who crosses one, and whether all of them could go
// at their own pace.
//
// A use (bytes over links, work on a processor) goes no faster than the narrowest thing on its way.
// As long as everything on its way has enough for all that cross it, each at its own pace, nothing
// slows it and it slows nobody: it is free, when it ends is known when it begins, and SimGrid need
// not hear of it. Where that is no longer so, SimGrid shares what is left of it.
#pragma once

#include <cstdint>
#include <simgrid/s4u.hpp>
#include <span>
#include <vector>

#include "sim/engine/world.hpp"

namespace forescale {

struct Use;

struct SharedCapacity {
  double per_s = 0;       // bytes, or seconds of work on all cores
  double pace_per_s = 0;  // of one use: a task runs on one core
  bool is_processor = false;
  bool is_down = false;

  double wanted_per_s = 0;  // by all that cross it, each at its own pace
  int crossing = 0;
  struct Free {
    Use* use = nullptr;
    std::uint64_t number = 0;  // another one than the use's: that one is no longer free, or over
  };
  std::vector<Free> free = {};

  // SimGrid's, made when it is first crowded.
  simgrid::s4u::Link* link = nullptr;
  simgrid::s4u::Host* processor = nullptr;
};

struct Use {
  std::span<SharedCapacity* const> way;
  double amount = 0;  // bytes, or seconds of work
  Completion* completion = nullptr;
  double begin_s = 0;
  double pace_per_s = 0;
  std::uint64_t number = 0;              // its own, not 0, while it is free
  double left = 0;                       // of the amount, not yet given to SimGrid
  simgrid::s4u::ActivityPtr activity{};  // SimGrid's, when it is not
};

double pace_per_s(std::span<SharedCapacity* const> way);

// Of its amount, as long as it has been free.
double left_of(const Use& use, double now_s);

// Counts one that begins and has a number. It is free: true. Else its number is 0, and so is that
// of those that are free no longer, which are added to `crowded`.
bool enter(Use& use, std::vector<Use*>& crowded);
// It is over.
void leave(Use& use);
// Its free uses are free no longer.
void crowd(SharedCapacity& capacity, std::vector<Use*>& crowded);

}  // namespace forescale
