// All to all between groups, as dragonflies have it: every group has the same number of gateways
// (routers or spines) with `globals` ports each. They are dealt out to the other groups in turn,
// the offset between the groups deciding; ports left over after whole turns stay unused, so that
// every pair of groups has floor(gateways * globals / (groups - 1)) links. Messages take link (from
// + to) mod count, the same both ways.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "topologies/fabrics/fabric.hpp"

namespace forescale {

// The place of the pair (a, b), a < b, among all pairs of `count`.
inline std::int64_t pair_number(std::int64_t a, std::int64_t b, std::int64_t count) {
  return a * (2 * count - a - 1) / 2 + (b - a - 1);
}

class GroupLinks {
 public:
  // `what`: the name of the key that says how many gateways a group has. InputError where they do
  // not reach every other group.
  GroupLinks(const JsonInput& in, const char* what, std::int64_t groups, std::int64_t gateways,
             std::int64_t globals)
      : groups_(groups), globals_(globals), per_pair_(gateways * globals / (groups - 1)) {
    if (per_pair_ == 0)
      in.at("globals").fail(
          fmt::format("must reach every other group: {} * globals = {} must be >= groups - 1 = {}",
                      what, gateways * globals, groups - 1));
  }

  std::int64_t per_pair() const { return per_pair_; }
  std::int64_t copy(std::int64_t from, std::int64_t to) const { return (from + to) % per_pair_; }
  // The gateway of group `here` that has copy `copy` of the links to group `there`.
  std::int64_t gateway(std::int64_t here, std::int64_t there, std::int64_t copy) const {
    const std::int64_t offset = (there - here + groups_) % groups_ - 1;
    return (copy * (groups_ - 1) + offset) / globals_;
  }
  void cross(Route& route, std::int64_t here, std::int64_t there, std::int64_t copy) const {
    const std::int64_t link =
        pair_number(std::min(here, there), std::max(here, there), groups_) * per_pair_ + copy;
    if (here < there)
      links_.forward(route, link);
    else
      links_.backward(route, link);
  }
  void add_to(FabricSite& site, int link_class,
              const std::function<int(std::int64_t group, std::int64_t gateway)>& device) {
    links_ = site.start_run(link_class);
    for (std::int64_t a = 0; a < groups_; ++a)
      for (std::int64_t b = a + 1; b < groups_; ++b)
        for (std::int64_t copy = 0; copy < per_pair_; ++copy)
          site.add_link(device(a, gateway(a, b, copy)), device(b, gateway(b, a, copy)), link_class);
  }

 private:
  std::int64_t groups_;
  std::int64_t globals_;
  std::int64_t per_pair_;
  LinkRun links_;  // pair of groups * per_pair + copy
};

}  // namespace forescale
