// Dragonfly: groups of routers, all to all inside a group, all to all between groups.
//
// Kim et al. 2008, canonical form: each router has `hosts` ports, a link to every router of its
// group and `globals` global ports. With `rows` > 1 a group is a grid, as on Cray's Cascade (Faanes
// et al. 2012): all to all inside each row (local links) and inside each column (column links);
// other routers of the group are reached along the row first. The group's ports (routers * globals)
// are dealt out to the other groups in turn, the offset between the groups deciding; ports left
// over after whole turns stay unused, so that every pair of groups has floor(routers * globals /
// (groups - 1)) links. Minimal routing: local, global, local; a pair of groups with several links
// takes link (from + to) mod count, the same both ways. No adaptive routing. Bisection between
// halves of the groups: groups^2/4 * links per pair * bandwidth. `latency` of the generator is per
// link.
#include <fmt/format.h>

#include <algorithm>

#include "topologies/fabrics/fabric.hpp"

namespace forescale {
namespace {

struct Dragonfly {
  std::int64_t groups = 0;
  std::int64_t routers = 0;  // of a group
  std::int64_t columns = 0;  // of a group: routers of a row
  std::int64_t hosts = 0;    // of a router
  std::int64_t globals = 0;  // global ports of a router
  std::int64_t links_per_pair = 0;
  LinkRun host_links;    // port
  LinkRun local_links;   // row, then pair of its routers; rows are numbered over all groups
  LinkRun column_links;  // column, then pair of its routers; columns likewise
  LinkRun global_links;  // pair of groups * links_per_pair + copy

  std::int64_t port_count() const { return groups * routers * hosts; }
  // The router of group `here` that has copy `copy` of the links to group `there`.
  std::int64_t gateway(std::int64_t here, std::int64_t there, std::int64_t copy) const {
    const std::int64_t offset = (there - here + groups) % groups - 1;
    return (copy * (groups - 1) + offset) / globals;
  }
};

// The place of the pair (a, b), a < b, among all pairs of `count`.
std::int64_t pair_number(std::int64_t a, std::int64_t b, std::int64_t count) {
  return a * (2 * count - a - 1) / 2 + (b - a - 1);
}

Dragonfly read_dragonfly(const JsonInput& in) {
  constexpr std::int64_t kShapeMax = 4096;
  Dragonfly shape;
  shape.groups = in.at("groups").integer(2, kShapeMax);
  shape.routers = in.at("routers").integer(1, kShapeMax);
  shape.hosts = in.at("hosts").integer(1, kShapeMax);
  shape.globals = in.at("globals").integer(1, kShapeMax);
  const auto rows_in = in.find("rows");
  const std::int64_t rows = rows_in ? rows_in->integer(1, shape.routers) : 1;
  if (shape.routers % rows != 0)
    rows_in->fail(fmt::format("must divide the routers of a group, {}", shape.routers));
  shape.columns = shape.routers / rows;
  shape.links_per_pair = shape.routers * shape.globals / (shape.groups - 1);
  if (shape.links_per_pair == 0)
    in.at("globals").fail(fmt::format(
        "must reach every other group: routers * globals = {} must be >= groups - 1 = {}",
        shape.routers * shape.globals, shape.groups - 1));
  const std::int64_t links = shape.groups * shape.routers * shape.routers / 2 +
                             shape.groups * shape.routers * shape.globals / 2;
  if (links > kFabricLinksMax || shape.port_count() > kHostsMax)
    in.fail(fmt::format("must not have more than {} hosts, {} links", kHostsMax, kFabricLinksMax));
  return shape;
}

// From one router to another of the same row or column of `count`, the `line`-th of its kind.
void go_straight(const LinkRun& links, Route& route, std::int64_t line, std::int64_t count,
                 std::int64_t from, std::int64_t to) {
  if (from == to) return;
  const std::int64_t pair =
      line * (count * (count - 1) / 2) + pair_number(std::min(from, to), std::max(from, to), count);
  if (from < to)
    links.forward(route, pair);
  else
    links.backward(route, pair);
}

// From one router to another of the same group.
void go_local(const Dragonfly& shape, Route& route, std::int64_t group, std::int64_t from,
              std::int64_t to) {
  const std::int64_t rows = shape.routers / shape.columns;
  const std::int64_t row = group * rows + from / shape.columns;
  const std::int64_t column = group * shape.columns + to % shape.columns;
  go_straight(shape.local_links, route, row, shape.columns, from % shape.columns,
              to % shape.columns);
  go_straight(shape.column_links, route, column, rows, from / shape.columns, to / shape.columns);
}

Route minimal(const Dragonfly& shape, std::int64_t from, std::int64_t to) {
  Route route;
  const std::int64_t router_from = from / shape.hosts;
  const std::int64_t router_to = to / shape.hosts;
  const std::int64_t group_from = router_from / shape.routers;
  const std::int64_t group_to = router_to / shape.routers;
  shape.host_links.forward(route, from);
  std::int64_t here = router_from % shape.routers;
  if (group_from != group_to) {
    const std::int64_t copy = (from + to) % shape.links_per_pair;
    go_local(shape, route, group_from, here, shape.gateway(group_from, group_to, copy));
    const std::int64_t link =
        pair_number(std::min(group_from, group_to), std::max(group_from, group_to), shape.groups) *
            shape.links_per_pair +
        copy;
    if (group_from < group_to)
      shape.global_links.forward(route, link);
    else
      shape.global_links.backward(route, link);
    here = shape.gateway(group_to, group_from, copy);
  }
  go_local(shape, route, group_to, here, router_to % shape.routers);
  shape.host_links.backward(route, to);
  return route;
}

PortRoute build_dragonfly(FabricSite& site) {
  Dragonfly shape = read_dragonfly(site.in);
  site.check_room(shape.port_count());
  const int host_class = site.link_class({.prefix = "", .fallback = -1, .latency_share = 1});
  const int local_class =
      site.link_class({.prefix = "local_", .fallback = host_class, .latency_share = 1});
  const int column_class =
      site.link_class({.prefix = "column_", .fallback = local_class, .latency_share = 1});
  const int global_class =
      site.link_class({.prefix = "global_", .fallback = host_class, .latency_share = 1});
  int first_router = 0;
  for (std::int64_t group = 0; group < shape.groups; ++group)
    for (std::int64_t router = 0; router < shape.routers; ++router) {
      const int number = site.add_switch(fmt::format("group{}.router{}", group, router));
      if (group == 0 && router == 0) first_router = number;
    }
  const auto router_device = [&](std::int64_t group, std::int64_t router) {
    return static_cast<int>(first_router + group * shape.routers + router);
  };
  shape.host_links = site.start_run(host_class);
  for (std::int64_t port = 0; port < site.port_count(); ++port)
    site.add_link(site.ports[static_cast<size_t>(port)],
                  static_cast<int>(first_router + port / shape.hosts), host_class);
  const std::int64_t rows = shape.routers / shape.columns;
  shape.local_links = site.start_run(local_class);
  for (std::int64_t group = 0; group < shape.groups; ++group)
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t a = 0; a < shape.columns; ++a)
        for (std::int64_t b = a + 1; b < shape.columns; ++b)
          site.add_link(router_device(group, row * shape.columns + a),
                        router_device(group, row * shape.columns + b), local_class);
  shape.column_links = site.start_run(column_class);
  for (std::int64_t group = 0; group < shape.groups; ++group)
    for (std::int64_t column = 0; column < shape.columns; ++column)
      for (std::int64_t a = 0; a < rows; ++a)
        for (std::int64_t b = a + 1; b < rows; ++b)
          site.add_link(router_device(group, a * shape.columns + column),
                        router_device(group, b * shape.columns + column), column_class);
  shape.global_links = site.start_run(global_class);
  for (std::int64_t a = 0; a < shape.groups; ++a)
    for (std::int64_t b = a + 1; b < shape.groups; ++b)
      for (std::int64_t copy = 0; copy < shape.links_per_pair; ++copy)
        site.add_link(router_device(a, shape.gateway(a, b, copy)),
                      router_device(b, shape.gateway(b, a, copy)), global_class);
  site.platform.fabric_summary = fmt::format(
      "dragonfly: {} groups of {} routers{}, {} ports a router, {} global links a pair of groups, "
      "minimal routing",
      shape.groups, shape.routers, rows > 1 ? fmt::format(" in {} rows", rows) : "", shape.hosts,
      shape.links_per_pair);
  return [shape](int from, int to) { return minimal(shape, from, to); };
}

const bool kDragonflyRegistered = add_fabric(
    {.name = "dragonfly",
     .usage = "dragonfly:groups=G,routers=A,hosts=P,globals=H,bandwidth=B,latency=T"
              "[,rows=R][,local_bandwidth=B,local_latency=T][,column_bandwidth=B,column_latency=T]"
              "[,global_bandwidth=B,global_latency=T]",
     .summary = "groups of routers, minimal routing; latency is per link",
     .keys = {"groups", "routers", "rows", "hosts", "globals"},
     .generator_keys = {},
     .link_prefixes = {"", "local_", "column_", "global_"},
     .host_count = [](const JsonInput& in) { return read_dragonfly(in).port_count(); },
     .build = build_dragonfly});

}  // namespace
}  // namespace forescale
