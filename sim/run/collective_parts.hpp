// A collective that is cut into parts, each with its own order of the ranks (models/stack.hpp,
// SelectionRule::orders): as many runs side by side, each with ports of its own where the stack's
// channels are a collective's. Without orders it is one run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/run/collective_run.hpp"

namespace forescale {

// Role p of a part is played by member roles[p] of the collective: in every group of as many
// members as the order is long by the one that the order names. A last, shorter group of m takes
// those of its members that the order names, from member order[0] mod m on: parts that begin at
// members which it lacks spread over those that it has.
std::vector<int> members_by_role(const std::vector<int>& order, int member_count);

// The rule's orders for `ranks` (slots of the platform), which name the GPUs of a node. InputError
// naming `stack` where the ranks do not fill nodes of as many, one after the other; the last one
// may be filled in part, and a ring may take fewer GPUs of each node.
std::vector<std::vector<int>> orders_for(const SelectionRule& rule, const std::vector<int>& ranks,
                                         const Platform& platform, const std::string& stack);

class CollectiveParts {
 public:
  struct Setting {  // where the runs live
    Machine& machine;
    Transport& transport;
    ProgressGate& gate;
    Timeline* timeline = nullptr;
  };
  // `settings.channel` and the next ones, one a part, must belong to this collective alone.
  CollectiveParts(const CollectiveRun::Settings& settings, const Setting& setting);

  int count() const { return static_cast<int>(parts_.size()); }
  // `member` starts; `on_done` runs in kernel context when all of its parts have finished.
  void join(int member, const std::function<void()>& on_done);
  bool finished() const;
  // What the first part that has not finished is waiting for.
  std::string describe(int member) const;

 private:
  struct Part {
    std::unique_ptr<CollectiveRun> run;
    std::vector<int> role_of_member;
  };
  std::vector<Part> parts_;
};

}  // namespace forescale
