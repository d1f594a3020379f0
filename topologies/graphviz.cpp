// The whole platform as a Graphviz graph, written by the Boost Graph Library.
#include <fmt/format.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>
#include <sstream>

#include "topologies/platform.hpp"

namespace forescale {
namespace {

using LayoutGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS,
                                          boost::no_property, int>;  // an edge's link number

const char* node_shape(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu:
      return "box";
    case DeviceKind::kCpu:
      return "ellipse";
    case DeviceKind::kPcieSwitch:
      return "diamond";
    case DeviceKind::kNvSwitch:
      return "octagon";
    case DeviceKind::kNic:
      return "trapezium";
    case DeviceKind::kFabricSwitch:
      return "hexagon";
    case DeviceKind::kHost:
      return "house";
  }
  return "box";
}

}  // namespace

std::string graphviz(const Platform& platform) {
  LayoutGraph graph(platform.devices.size());
  for (size_t i = 0; i < platform.links.size(); ++i)
    boost::add_edge(static_cast<size_t>(platform.links[i].from),
                    static_cast<size_t>(platform.links[i].to), static_cast<int>(i), graph);
  const auto write_device = [&](std::ostream& out, size_t vertex) {
    const Device& device = platform.devices[vertex];
    out << fmt::format(" [label=\"{}\", shape={}]", device.name, node_shape(device.kind));
  };
  const auto write_link = [&](std::ostream& out, const LayoutGraph::edge_descriptor& edge) {
    const Link& link = platform.links[static_cast<size_t>(graph[edge])];
    const LinkClass& link_class = platform.link_classes[static_cast<size_t>(link.link_class)];
    out << fmt::format(" [label=\"{}\\n{}\"]", link_class.name, to_text(link_class.bandwidth));
  };
  std::ostringstream out;
  boost::write_graphviz(out, graph, write_device, write_link);
  return out.str();
}

}  // namespace forescale
