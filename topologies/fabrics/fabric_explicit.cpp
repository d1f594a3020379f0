// Explicit fabric: switches and links as listed; routes are shortest paths, found when loading.
//
// Among equally short paths the choice is deterministic but not spread: parallel ways stay unused.
// Use a fat tree or a dragonfly where the fabric is one. Memory: 4 bytes for each pair of a port
// and a device of the fabric, so the number of those pairs is limited.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/error.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/shortest_path.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kPairsMax = 1 << 26;

// Fabric devices by name: ports first, then switches; vertex numbers of the path problem.
struct Vertices {
  std::map<std::string, int> by_name;
  std::vector<int> devices;

  void add(const std::string& name, int device) {
    by_name.emplace(name, static_cast<int>(devices.size()));
    devices.push_back(device);
  }
};

Vertices read_vertices(FabricSite& site) {
  Vertices vertices;
  for (int port : site.ports)
    vertices.add(site.platform.devices[static_cast<size_t>(port)].name, port);
  for (const JsonInput& each : site.in.at("switches").elements()) {
    const std::string name = each.string();
    if (vertices.by_name.count(name) != 0) each.fail("must be unique in the fabric");
    vertices.add(name, site.add_switch(name));
  }
  return vertices;
}

int vertex_of(const JsonInput& in, const Vertices& vertices) {
  const std::string name = in.string();
  if (const auto known = vertices.by_name.find(name); known != vertices.by_name.end())
    return known->second;
  std::vector<std::string> names;
  for (const auto& [each, number] : vertices.by_name) names.push_back(each);
  in.fail("is " + unknown_name(name, names));
}

PortRoute build_explicit(FabricSite& site) {
  const Vertices vertices = read_vertices(site);
  const JsonInput links_in = site.in.at("links");
  const auto first_link = static_cast<int>(site.platform.links.size());
  std::vector<Link> links;  // between vertices
  for (const JsonInput& each : links_in.elements()) {
    each.allow_only({"from", "to", "class"});
    const Link link{.from = vertex_of(each.at("from"), vertices),
                    .to = vertex_of(each.at("to"), vertices),
                    .link_class = site.link_class_named(each.at("class"))};
    if (link.from == link.to) each.at("to").fail("must not be the device the link comes from");
    links.push_back(link);
    site.add_link(vertices.devices[static_cast<size_t>(link.from)],
                  vertices.devices[static_cast<size_t>(link.to)], link.link_class);
  }
  const auto vertex_count = static_cast<std::int64_t>(vertices.devices.size());
  const std::int64_t port_count = site.port_count();
  if (port_count * vertex_count > kPairsMax)
    site.in.fail(fmt::format("must have ports * (ports + switches) <= {}", kPairsMax));

  PathProblem problem{.vertex_count = static_cast<int>(vertex_count),
                      .arcs = arcs_of(links, site.platform.link_classes, first_link),
                      .may_transit = std::vector<char>(static_cast<size_t>(vertex_count), 1)};
  for (std::int64_t port = 0; port < port_count; ++port)
    problem.may_transit[static_cast<size_t>(port)] = 0;
  std::vector<std::vector<int>> arrivals;
  for (int port = 0; port < port_count; ++port) {
    arrivals.push_back(arrivals_from(problem, port));
    for (int other = 0; other < port_count; ++other)
      if (other != port && arrivals.back()[static_cast<size_t>(other)] < 0)
        links_in.fail(fmt::format(
            "must connect all nodes: there is no way from {} to {}",
            site.platform.devices[static_cast<size_t>(site.ports[static_cast<size_t>(port)])].name,
            site.platform.devices[static_cast<size_t>(site.ports[static_cast<size_t>(other)])]
                .name));
  }
  site.platform.fabric_summary =
      fmt::format("explicit: {} switches, {} links, shortest paths",
                  vertices.devices.size() - site.ports.size(), links.size());
  struct Paths {
    PathProblem problem;
    std::vector<std::vector<int>> arrivals;
  };
  const auto paths = std::make_shared<const Paths>(Paths{std::move(problem), std::move(arrivals)});
  return [paths](int from, int to) {
    return walk_back(paths->problem, paths->arrivals[static_cast<size_t>(from)], to);
  };
}

const bool kExplicitRegistered =
    add_fabric({.name = "explicit",
                .usage = "",
                .summary = "switches and links as listed, shortest paths",
                .keys = {"switches", "links"},
                .generator_keys = {},
                .link_prefixes = {},
                .host_count = nullptr,
                .build = build_explicit});

}  // namespace
}  // namespace forescale
