// Dragonfly: groups of routers, all to all inside a group, all to all between groups.
//
// Kim et al. 2008, canonical form: each router has `hosts` ports, a link to every router of its
// group and `globals` global ports. With `rows` > 1 a group is a grid, as on Cray's Cascade (Faanes
// et al. 2012): all to all inside each row (local links) and inside each column (column links);
// other routers of the group are reached along the row first. Between groups: group_links.hpp.
// Minimal routing: local, global, local. No adaptive routing. Bisection between
// halves of the groups: groups^2/4 * links per pair * bandwidth. `latency` of the generator is per
// link.
#include <fmt/format.h>

#include <algorithm>

#include "topologies/fabrics/group_links.hpp"

namespace forescale {
namespace {

struct Dragonfly {
  std::int64_t groups = 0;
  std::int64_t routers = 0;  // of a group
  std::int64_t columns = 0;  // of a group: routers of a row
  std::int64_t hosts = 0;    // of a router
  GroupLinks between;        // over the routers' global ports
  LinkRun host_links;        // port
  LinkRun local_links;       // row, then pair of its routers; rows are numbered over all groups
  LinkRun column_links;      // column, then pair of its routers; columns likewise

  std::int64_t port_count() const { return groups * routers * hosts; }
};

Dragonfly read_dragonfly(const JsonInput& in) {
  constexpr std::int64_t kShapeMax = 4096;
  const std::int64_t groups = in.at("groups").integer(2, kShapeMax);
  const std::int64_t routers = in.at("routers").integer(1, kShapeMax);
  const std::int64_t hosts = in.at("hosts").integer(1, kShapeMax);
  const std::int64_t globals = in.at("globals").integer(1, kShapeMax);
  const auto rows_in = in.find("rows");
  const std::int64_t rows = rows_in ? rows_in->integer(1, routers) : 1;
  if (routers % rows != 0)
    rows_in->fail(fmt::format("must divide the routers of a group, {}", routers));
  const Dragonfly shape{.groups = groups,
                        .routers = routers,
                        .columns = routers / rows,
                        .hosts = hosts,
                        .between = GroupLinks(in, "routers", groups, routers, globals),
                        .host_links = {},
                        .local_links = {},
                        .column_links = {}};
  const std::int64_t links = groups * routers * routers / 2 + groups * routers * globals / 2;
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
    const std::int64_t copy = shape.between.copy(from, to);
    go_local(shape, route, group_from, here, shape.between.gateway(group_from, group_to, copy));
    shape.between.cross(route, group_from, group_to, copy);
    here = shape.between.gateway(group_to, group_from, copy);
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
  shape.between.add_to(site, global_class, router_device);
  site.platform.fabric_summary = fmt::format(
      "dragonfly: {} groups of {} routers{}, {} ports a router, {} global links a pair of groups, "
      "minimal routing",
      shape.groups, shape.routers, rows > 1 ? fmt::format(" in {} rows", rows) : "", shape.hosts,
      shape.between.per_pair());
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
