// A zone whose route is the one of the flow being started.
#pragma once

#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <string>
#include <vector>

namespace forescale {

class FlowZone : public simgrid::kernel::routing::NetZoneImpl {
 public:
  explicit FlowZone(const std::string& name) : NetZoneImpl(name) {}
  void get_local_route(const simgrid::kernel::routing::NetPoint*,
                       const simgrid::kernel::routing::NetPoint*,
                       simgrid::kernel::routing::Route* into, double* /*latency*/) override {
    into->link_list_.insert(into->link_list_.end(), current.begin(), current.end());
  }
  std::vector<simgrid::kernel::resource::StandardLinkImpl*> current = {};
};

}  // namespace forescale
