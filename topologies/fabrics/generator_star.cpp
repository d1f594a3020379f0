// Star: every port hangs on one switch that never limits. Two hops between any two ports.
//
// As a generator, `latency` is host to host: each of the two links carries half of it, so that a
// route's latency is exactly the value given (x/2 + x/2 == x in binary floating point).
// Bisection: floor(N/2) * bandwidth. This is the contention-free platform of the closed forms.
#include "topologies/fabrics/fabric.hpp"

namespace forescale {
namespace {

PortRoute build_star(FabricSite& site) {
  constexpr double kHalf = 0.5;
  const int link_class = site.link_class(
      {.prefix = "", .fallback = -1, .latency_share = site.is_generated ? kHalf : 1});
  const int hub = site.add_switch("hub0");
  const LinkRun up = site.start_run(link_class);
  site.platform.links.edit().reserve(site.platform.links.size() + site.ports.size());
  for (int port : site.ports) site.add_link(port, hub, link_class);
  site.platform.fabric_summary = "star: one switch";
  site.platform.uniform_pairs = site.is_generated;
  return [up](int from, int to) {
    Route route;
    up.forward(route, from);
    up.backward(route, to);
    return route;
  };
}

const bool kStarRegistered = add_fabric(
    {.name = "star",
     .usage = "star:hosts=N,link=CLASS or star:hosts=N,bandwidth=B,latency=T[,duplex=half]",
     .summary = "hosts on one ideal switch; latency is host to host",
     .keys = {},
     .generator_keys = {"hosts"},
     .link_prefixes = {""},
     .host_count = [](const JsonInput& in) { return in.at("hosts").integer(1, kHostsMax); },
     .build = build_star});

}  // namespace
}  // namespace forescale
