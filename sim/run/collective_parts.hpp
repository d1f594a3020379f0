// A collective that is cut into parts, each with its own order of the ranks
// (ResolvedCall::parts()): as many runs side by side, each with ports of its own where the stack's
// channels are a collective's. Without orders it is one run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/run/collective_run.hpp"

namespace forescale {

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
