// The flows that SimGrid shares links among.
//
// Uses that cross the same crowded links at the same pace go at one rate, however far they are:
// they are one flow to SimGrid, with the weight of as many, and end in the order of what is left of
// each. So what an event costs grows with how many of them differ.
#pragma once

#include <cstdint>
#include <map>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

#include "sim/engine/simgrid/shared_capacity.hpp"

namespace forescale {

class FlowZone;

struct SharedFlow {
  struct Key {
    std::vector<SharedCapacity*> links;  // those crowded
    double pace_per_s = 0;
    std::uint64_t number = 0;  // of one that is alone; 0: of all alike
    auto operator<=>(const Key&) const = default;
  };
  const Key* key = nullptr;
  // By what the flow has carried for each when they end, then in the order in which they came.
  std::map<std::pair<double, std::uint64_t>, Use*> parts = {};
  double carried = 0;  // bytes for each, so far
  double goal = 0;     // when SimGrid's flow ends
  double told = 0;  // of what SimGrid was told to carry, what was left when it was last looked at
  simgrid::s4u::CommPtr comm = {};
  simgrid::kernel::resource::Action* action = nullptr;  // of SimGrid's flow, while it is under way
};

class SharedFlows {
 public:
  // `zone` has the routes; links are made in `things`. Not together: a flow a use, over its whole
  // way.
  SharedFlows(FlowZone& zone, FlowZone& things, bool together);
  ~SharedFlows();
  SharedFlows(const SharedFlows&) = delete;
  SharedFlows& operator=(const SharedFlows&) = delete;

  // In kernel context, at SimGrid's time. A use with `left` and a way of which something is
  // crowded, and a new number.
  void add(Use& use);
  // Sets what is left of it.
  void remove(Use& use);
  // When the next of SimGrid's flows is over, if it is told nothing before; infinity: there is
  // none.
  double next_end_s();
  // SimGrid's flow is over: the uses that have come to their end, or failed, removed.
  std::vector<Use*> ended(SharedFlow& flow, bool ok);

  simgrid::s4u::Host* host() const { return from_; }
  void turn_off(SharedCapacity& link);

 private:
  void look_at(SharedFlow& flow);
  void tell(SharedFlow& flow);
  void begin(SharedFlow& flow);
  void forget(SharedFlow& flow);
  void keep_given_up(simgrid::s4u::CommPtr comm);
  simgrid::s4u::Link* made_link(SharedCapacity& capacity);

  FlowZone& zone_;
  FlowZone& things_;
  bool together_;
  simgrid::s4u::Host* from_;  // ends of every flow: routes are ours
  simgrid::s4u::Host* to_;
  simgrid::kernel::resource::Model* network_;
  std::map<SharedFlow::Key, SharedFlow> flows_;
  std::uint64_t added_ = 0;
  int links_ = 0;
  // Never release the last pointer to an activity inside its own callback.
  simgrid::s4u::ActivityPtr parked_;
  // Nor that to one given up before SimGrid has come to it.
  std::vector<simgrid::s4u::CommPtr> given_up_;
  std::vector<simgrid::s4u::CommPtr> given_up_before_;
  double given_up_at_s_ = 0;
};

}  // namespace forescale
