// One collective in flight on simulated ranks: advances every rank's plan through the transport.
//
// A rank joins when it calls the collective; its plan then runs on completions, without an actor.
// Sends are posted in the order of the plan, at most `channels` at a time; so are receives. Where
// the stack says that queues are posted by themselves (ChannelsOf::kQueue), those of a queue above
// 0 are: to a peer one after the other, and from it at most `channels` receives at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/collective.hpp"
#include "sim/engine/transport.hpp"
#include "sim/resolved_call.hpp"

namespace forescale {

// Must live until all members have finished, and while its own code is on the call stack.
class CollectiveRun {
 public:
  struct Settings : ResolvedCall {
    std::uint64_t channel = 0;        // distinct for every collective in flight
    std::vector<int> ranks;           // world rank of each role: a run is one part of the call
    int part = 0;                     // of the call: its messages have connections of their own
    std::vector<int> few_steps = {};  // SessionOptions
    std::string label;
    bool control = false;
  };

  CollectiveRun(Settings settings, Machine& machine, Transport& transport, ProgressGate& gate,
                Timeline* timeline);
  ~CollectiveRun();

  // `member` starts; `on_done` runs in kernel context when its part has finished.
  void join(int member, std::function<void()> on_done);
  bool finished() const { return unfinished_ == 0; }
  const Settings& settings() const { return settings_; }
  // What a member is waiting for: "operation 5 receives 128 bytes from rank 2".
  std::string describe(int member) const;

 private:
  class Member;
  // The roles of a message, or of the one that stands for it where some members do for all: that
  // which arrives at one of them.
  std::pair<int, int> as_simulated(int source, int destination) const;

  Settings settings_;
  Machine& machine_;
  Transport& transport_;
  ProgressGate& gate_;
  Timeline* timeline_;
  int label_ = 0;
  RoleTurn turn_;
  int unfinished_ = 0;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace forescale
