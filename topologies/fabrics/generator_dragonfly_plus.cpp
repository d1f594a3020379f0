// Dragonfly+: groups of leaves and spines, all to all between groups.
//
// Shpiner et al., Dragonfly+: Low Cost Topology for Scaling Datacenters (HiPINEB 2017): each leaf
// has `hosts` ports and a link to every spine of its group; each spine has `globals` ports to
// spines of other groups. The group's global ports (spines * globals) are dealt out to the other
// groups in turn, the offset between the groups deciding; ports left over after whole turns stay
// unused, so that every pair of groups has floor(spines * globals / (groups - 1)) links. Minimal
// routing: leaf, spine, spine, leaf; a pair of groups with several links takes link (from + to) mod
// count, the same both ways. Inside a group the spine is destination mod spines, as in a fat tree
// (d-mod-k). No adaptive routing. Bisection between halves of the groups: groups^2/4 * links per
// pair * bandwidth. `latency` of the generator is per link.
#include <fmt/format.h>

#include <algorithm>

#include "topologies/fabrics/fabric.hpp"

namespace forescale {
namespace {

struct DragonflyPlus {
  std::int64_t groups = 0;
  std::int64_t leaves = 0;  // of a group
  std::int64_t spines = 0;  // of a group
  std::int64_t hosts = 0;   // of a leaf
  GroupLinks between;       // over the spines' global ports
  LinkRun host_links;       // port
  LinkRun local_links;      // leaf, numbered over all groups, * spines + spine

  std::int64_t port_count() const { return groups * leaves * hosts; }
};

DragonflyPlus read_dragonfly_plus(const JsonInput& in) {
  constexpr std::int64_t kShapeMax = 4096;
  const std::int64_t groups = in.at("groups").integer(2, kShapeMax);
  const std::int64_t leaves = in.at("leaves").integer(1, kShapeMax);
  const std::int64_t spines = in.at("spines").integer(1, kShapeMax);
  const std::int64_t hosts = in.at("hosts").integer(1, kShapeMax);
  const std::int64_t globals = in.at("globals").integer(1, kShapeMax);
  const DragonflyPlus shape{.groups = groups,
                            .leaves = leaves,
                            .spines = spines,
                            .hosts = hosts,
                            .between = GroupLinks(in, "spines", groups, spines, globals),
                            .host_links = {},
                            .local_links = {}};
  const std::int64_t links = groups * spines * (leaves + globals) + shape.port_count();
  if (links > kFabricLinksMax || shape.port_count() > kHostsMax)
    in.fail(fmt::format("must not have more than {} hosts, {} links", kHostsMax, kFabricLinksMax));
  return shape;
}

Route minimal_over_spines(const DragonflyPlus& shape, std::int64_t from, std::int64_t to) {
  Route route;
  const std::int64_t leaf_from = from / shape.hosts;
  const std::int64_t leaf_to = to / shape.hosts;
  const std::int64_t group_from = leaf_from / shape.leaves;
  const std::int64_t group_to = leaf_to / shape.leaves;
  shape.host_links.forward(route, from);
  if (leaf_from != leaf_to) {
    std::int64_t spine_up = to % shape.spines;
    std::int64_t spine_down = spine_up;
    const std::int64_t copy = shape.between.copy(from, to);
    if (group_from != group_to) {
      spine_up = shape.between.gateway(group_from, group_to, copy);
      spine_down = shape.between.gateway(group_to, group_from, copy);
    }
    shape.local_links.forward(route, leaf_from * shape.spines + spine_up);
    if (group_from != group_to) shape.between.cross(route, group_from, group_to, copy);
    shape.local_links.backward(route, leaf_to * shape.spines + spine_down);
  }
  shape.host_links.backward(route, to);
  return route;
}

PortRoute build_dragonfly_plus(FabricSite& site) {
  DragonflyPlus shape = read_dragonfly_plus(site.in);
  site.check_room(shape.port_count());
  const int host_class = site.link_class({.prefix = "", .fallback = -1, .latency_share = 1});
  const int local_class =
      site.link_class({.prefix = "local_", .fallback = host_class, .latency_share = 1});
  const int global_class =
      site.link_class({.prefix = "global_", .fallback = host_class, .latency_share = 1});
  std::vector<int> leaves;  // devices, over all groups
  std::vector<int> spines;
  for (std::int64_t group = 0; group < shape.groups; ++group) {
    for (std::int64_t leaf = 0; leaf < shape.leaves; ++leaf)
      leaves.push_back(site.add_switch(fmt::format("group{}.leaf{}", group, leaf)));
    for (std::int64_t spine = 0; spine < shape.spines; ++spine)
      spines.push_back(site.add_switch(fmt::format("group{}.spine{}", group, spine)));
  }
  const auto spine_device = [&](std::int64_t group, std::int64_t spine) {
    return spines[static_cast<size_t>(group * shape.spines + spine)];
  };
  shape.host_links = site.start_run(host_class);
  for (std::int64_t port = 0; port < site.port_count(); ++port)
    site.add_link(site.ports[static_cast<size_t>(port)],
                  leaves[static_cast<size_t>(port / shape.hosts)], host_class);
  shape.local_links = site.start_run(local_class);
  for (std::int64_t leaf = 0; leaf < shape.groups * shape.leaves; ++leaf)
    for (std::int64_t spine = 0; spine < shape.spines; ++spine)
      site.add_link(leaves[static_cast<size_t>(leaf)], spine_device(leaf / shape.leaves, spine),
                    local_class);
  shape.between.add_to(site, global_class, spine_device);
  site.platform.fabric_summary = fmt::format(
      "dragonfly+: {} groups of {} leaves and {} spines, {} ports a leaf, {} global links a pair "
      "of "
      "groups, minimal routing",
      shape.groups, shape.leaves, shape.spines, shape.hosts, shape.between.per_pair());
  return [shape](int from, int to) { return minimal_over_spines(shape, from, to); };
}

const bool kDragonflyPlusRegistered = add_fabric(
    {.name = "dragonfly+",
     .usage = "dragonfly+:groups=G,leaves=A,spines=S,hosts=P,globals=H,bandwidth=B,latency=T"
              "[,local_bandwidth=B,local_latency=T][,global_bandwidth=B,global_latency=T]",
     .summary = "groups of leaves and spines, minimal routing; latency is per link",
     .keys = {"groups", "leaves", "spines", "hosts", "globals"},
     .generator_keys = {},
     .link_prefixes = {"", "local_", "global_"},
     .host_count = [](const JsonInput& in) { return read_dragonfly_plus(in).port_count(); },
     .build = build_dragonfly_plus});

}  // namespace
}  // namespace forescale
