// Links and processors as this world counts them: who crosses one, and whether all of them could go
// at their own pace.
//
// A use (bytes over links, work on a processor) goes no faster than the narrowest thing on its way.
// As long as everything on its way has enough for all that cross it, each at its own pace, nothing
// slows it and it slows nobody: it is free, when it ends is known when it begins, and SimGrid need
// not hear of it. Where that is no longer so, SimGrid shares links that are crowded among what is
// left of those that cross them, none faster than its pace; the rest of their ways has enough.
// Tasks share a processor evenly, which takes no solver (shared_processor.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <simgrid/s4u.hpp>
#include <span>
#include <vector>

#include "sim/engine/simgrid/shared_processor.hpp"
#include "sim/engine/world.hpp"

namespace forescale {

struct SharedFlow;
struct Use;

// Of most uses one line of a cache: what comes first.
struct alignas(64) SharedCapacity {
  double per_s = 0;       // bytes, or seconds of work on all cores
  double pace_per_s = 0;  // of one use: a task runs on one core
  bool is_processor = false;
  bool is_down = false;

  double wanted_per_s = 0;  // by all that cross it, each at its own pace
  int crossing = 0;
  // Those that cross it and that it has not slowed.
  struct Unslowed {
    Use* use = nullptr;
    std::uint64_t number = 0;  // another one than the use's: it is slowed, elsewhere or over
  };
  std::vector<Unslowed> unslowed = {};

  // Made when it is first crowded:
  std::unique_ptr<SharedProcessor> shared = {};
  simgrid::s4u::Link* link = nullptr;       // SimGrid's
  simgrid::s4u::Host* processor = nullptr;  // the same, where it is given all
};

struct Use {
  std::span<SharedCapacity* const> way;
  double amount = 0;  // bytes, or seconds of work
  Completion* completion = nullptr;
  double begin_s = 0;
  double pace_per_s = 0;
  // Of its being free, or of its part in a flow: not 0, until something more on its way is crowded;
  // or of its being the next to end on a processor that slows it.
  std::uint64_t number = 0;
  double left = 0;             // of the amount, when it became free or began its part in a flow
  double free_from_s = 0;      // so long has it been free, if it is
  SharedFlow* flow = nullptr;  // SimGrid's that it is a part of, if it is
  SharedProcessor* processor = nullptr;     // that slows it, if one does
  double end = 0;                           // what either has carried or done for each then
  simgrid::s4u::ActivityPtr activity = {};  // SimGrid's, of a task, where it is given all
};

double pace_per_s(std::span<SharedCapacity* const> way);

// Has not enough for all that cross it, or nothing comes across.
bool is_crowded(const SharedCapacity& capacity);

// Of its amount, when it has been free until `now_s`.
double left_of(const Use& use, double now_s);

// Counts one that begins. Those that are slowed from now on by what is on its way have the number 0
// then and are added to `slowed`. False: it is not free itself.
bool enter(Use& use, std::vector<Use*>& slowed);
// It is over.
void leave(Use& use);
// One with a number that this does not slow.
void note_unslowed(SharedCapacity& capacity, Use& use);
// It slows all that cross it.
void slow_all(SharedCapacity& capacity, std::vector<Use*>& slowed);

}  // namespace forescale
