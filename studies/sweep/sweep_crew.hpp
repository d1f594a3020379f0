// The master's side of its workers: who they are, and what each of them has in hand.
#pragma once

#include <poll.h>

#include <cstddef>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "studies/sweep/sweep_wire.hpp"

namespace forescale {

class SweepCrew {
 public:
  // Says in `address_file` where workers find it; gone again with this object. `expected`: how many
  // workers will come, sooner or later. `study` and `version` must be theirs too.
  SweepCrew(std::string address_file, std::size_t expected, std::string study, std::string version);
  ~SweepCrew();
  SweepCrew(const SweepCrew&) = delete;
  SweepCrew& operator=(const SweepCrew&) = delete;

  // Gives the point to a worker that has room; false when none has.
  bool give(std::size_t point);
  void add_to(std::vector<pollfd>& polls) const;
  // Greets newcomers and gathers what workers have sent; never waits. Points of a worker that has
  // gone are appended to `lost`.
  std::vector<PointOutcome> collect(std::vector<std::size_t>& lost);
  // Tells all workers that there is no more, those too that have not come yet: for them it waits,
  // up to half a minute.
  void dismiss();

 private:
  struct Worker {
    LineSocket socket;
    std::size_t slots = 0;  // 0: not greeted yet
    std::set<std::size_t> in_hand;
  };
  void greet(Worker& worker, const nlohmann::json& message);
  std::vector<PointOutcome> hear(Worker& worker);
  bool all_have_come() const { return greeted_ >= expected_; }

  std::string address_file_;
  std::size_t expected_;
  std::string study_;
  std::string version_;
  Listener listener_;
  std::string secret_;
  std::size_t greeted_ = 0;
  std::list<Worker> workers_;
};

}  // namespace forescale
