// Torus: routers on a grid that wraps around in every dimension, `hosts` ports on each router.
//
// Routing is dimension order (first dimension first), the shorter way round; at equal distance
// upwards. A dimension of 2 has one link between its two routers, not two; one of 1 has none.
// Port numbers run fastest in the first dimension. Bisection, halving an even dimension k > 2:
// 2 * (routers / k) * bandwidth. `latency` of the generator is per link, host links included.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "topologies/fabrics/fabric.hpp"

namespace forescale {
namespace {

struct Dimension {
  std::int64_t extent = 1;
  std::int64_t stride = 1;  // routers between neighbours
  LinkRun links;            // of the router below each link

  // A ring has as many links as routers; two routers have one link.
  std::int64_t links_per_ring() const { return extent > 2 ? extent : extent - 1; }
  std::int64_t coordinate(std::int64_t router) const { return router / stride % extent; }
  // The link from `router` to its upper neighbour.
  std::int64_t link_above(std::int64_t router) const {
    const std::int64_t ring = router / (stride * extent) * stride + router % stride;
    return ring * links_per_ring() + coordinate(router);
  }
  std::int64_t moved_to(std::int64_t router, std::int64_t coordinate_) const {
    return router + (coordinate_ - coordinate(router)) * stride;
  }
};

struct Torus {
  std::vector<Dimension> dimensions;
  std::int64_t routers = 1;
  std::int64_t hosts = 1;  // of a router
  LinkRun host_links;
};

Torus read_torus(const JsonInput& in) {
  constexpr int kDimensionsMax = 6;
  Torus torus;
  for (std::int64_t extent : integer_list(in.at("dims"), 1, kHostsMax)) {
    torus.dimensions.push_back({.extent = extent, .stride = torus.routers, .links = {}});
    torus.routers *= extent;
    if (torus.routers > kHostsMax)
      in.at("dims").fail(fmt::format("must not have more than {} routers", kHostsMax));
  }
  if (torus.dimensions.size() > kDimensionsMax)
    in.at("dims").fail(fmt::format("must have <= {} dimensions", kDimensionsMax));
  if (const auto hosts = in.find("hosts")) torus.hosts = hosts->integer(1, kHostsMax);
  if (torus.routers * torus.hosts > kHostsMax)
    in.fail(fmt::format("must not ask for more than {} hosts", kHostsMax));
  return torus;
}

Route dimension_order(const Torus& torus, std::int64_t from, std::int64_t to) {
  Route route;
  torus.host_links.forward(route, from);
  std::int64_t here = from / torus.hosts;
  const std::int64_t target = to / torus.hosts;
  for (const Dimension& dimension : torus.dimensions) {
    const std::int64_t k = dimension.extent;
    const std::int64_t goal = dimension.coordinate(target);
    const std::int64_t upwards = (goal - dimension.coordinate(here) + k) % k;
    const bool goes_up = k == 2 ? goal == 1 : 2 * upwards <= k;
    while (dimension.coordinate(here) != goal) {
      const std::int64_t next = (dimension.coordinate(here) + (goes_up ? 1 : k - 1)) % k;
      const std::int64_t there = dimension.moved_to(here, next);
      if (goes_up)
        dimension.links.forward(route, dimension.link_above(here));
      else
        dimension.links.backward(route, dimension.link_above(there));
      here = there;
    }
  }
  torus.host_links.backward(route, to);
  return route;
}

// Halving each even dimension, where every node has one port.
void note_splits(FabricSite& site, const Torus& torus) {
  const std::int64_t nodes = site.platform.node_count;
  if (site.port_count() != nodes || nodes != torus.routers * torus.hosts) return;
  for (const Dimension& dimension : torus.dimensions) {
    if (dimension.extent % 2 != 0) continue;
    std::vector<char> sides;
    sides.reserve(static_cast<size_t>(nodes));
    for (std::int64_t port = 0; port < nodes; ++port)
      sides.push_back(2 * dimension.coordinate(port / torus.hosts) < dimension.extent ? 0 : 1);
    site.platform.fabric_splits.push_back(std::move(sides));
  }
}

PortRoute build_torus(FabricSite& site) {
  Torus torus = read_torus(site.in);
  site.check_room(torus.routers * torus.hosts);
  const int grid_class = site.link_class({.prefix = "", .fallback = -1, .latency_share = 1});
  const int host_class =
      site.link_class({.prefix = "host_", .fallback = grid_class, .latency_share = 1});
  int first_router = 0;
  for (std::int64_t router = 0; router < torus.routers; ++router) {
    const int number = site.add_switch(fmt::format("router{}", router));
    if (router == 0) first_router = number;
  }
  torus.host_links = site.start_run(host_class);
  for (std::int64_t port = 0; port < site.port_count(); ++port)
    site.add_link(site.ports[static_cast<size_t>(port)],
                  static_cast<int>(first_router + port / torus.hosts), host_class);
  for (Dimension& dimension : torus.dimensions) {
    dimension.links = site.start_run(grid_class);
    const std::int64_t rings = torus.routers / dimension.extent;
    for (std::int64_t ring = 0; ring < rings; ++ring) {
      const std::int64_t base =
          ring / dimension.stride * dimension.stride * dimension.extent + ring % dimension.stride;
      for (std::int64_t x = 0; x < dimension.links_per_ring(); ++x)
        site.add_link(
            static_cast<int>(first_router + base + x * dimension.stride),
            static_cast<int>(first_router + base + (x + 1) % dimension.extent * dimension.stride),
            grid_class);
    }
  }
  note_splits(site, torus);
  std::vector<std::int64_t> extents;
  for (const Dimension& dimension : torus.dimensions) extents.push_back(dimension.extent);
  site.platform.fabric_summary =
      fmt::format("torus: {} routers, {} ports a router, dimension order",
                  fmt::join(extents, " x "), torus.hosts);
  return [torus](int from, int to) { return dimension_order(torus, from, to); };
}

const bool kTorusRegistered =
    add_fabric({.name = "torus",
                .usage = "torus:dims=4x4x4[,hosts=PER_ROUTER],bandwidth=B,latency=T"
                         "[,host_bandwidth=B,host_latency=T]",
                .summary = "a grid that wraps around, dimension-order routing; latency is per link",
                .keys = {"dims", "hosts"},
                .generator_keys = {},
                .link_prefixes = {"", "host_"},
                .host_count =
                    [](const JsonInput& in) {
                      const Torus torus = read_torus(in);
                      return torus.routers * torus.hosts;
                    },
                .build = build_torus});

}  // namespace
}  // namespace forescale
