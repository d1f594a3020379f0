// Bisection bandwidth: the least maximum flow over a few balanced splits of the nodes.
//
// The true bisection is the minimum over all balanced splits (NP-hard); the splits examined here
// (halves in node order, alternating nodes, the fabric's own) give an upper bound, which is exact
// for the regular fabrics of the generators. Maximum flow = minimum cut, by push-relabel of the
// Boost Graph Library on whole bytes/s. Kept small: a node's inside counts only as the links that
// its NIC hangs on, and all ports of one side behind one switch are one edge.
#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <map>

#include "topologies/node_routes.hpp"

namespace forescale {
namespace {

using Rate = std::int64_t;  // bytes/s

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct Edge {
  Rate capacity = 0;
  Rate residual = 0;
  Traits::edge_descriptor reverse;
};
using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Edge>;

// Sums the capacities between vertices, then asks for the flow from vertex 0 to vertex 1.
class FlowNetwork {
 public:
  static constexpr int kSource = 0;
  static constexpr int kSink = 1;

  int vertex(int device) {
    const auto [entry, fresh] = vertices_.emplace(device, vertex_count_);
    if (fresh) ++vertex_count_;
    return entry->second;
  }
  void add(int from, int to, Rate capacity) {
    if (from != to) capacities_[{from, to}] += capacity;
  }

  Rate max_flow() const {
    Graph graph(static_cast<size_t>(vertex_count_));
    // Push-relabel wants a reverse edge of capacity 0 for every edge, even where both ways exist.
    for (const auto& [ends, capacity] : capacities_) {
      const auto from = static_cast<size_t>(ends.first);
      const auto to = static_cast<size_t>(ends.second);
      const auto forward =
          boost::add_edge(from, to, {.capacity = capacity, .residual = 0, .reverse = {}}, graph)
              .first;
      const auto backward =
          boost::add_edge(to, from, {.capacity = 0, .residual = 0, .reverse = {}}, graph).first;
      graph[forward].reverse = backward;
      graph[backward].reverse = forward;
    }
    return boost::push_relabel_max_flow(
        graph, static_cast<size_t>(kSource), static_cast<size_t>(kSink),
        boost::capacity_map(boost::get(&Edge::capacity, graph))
            .residual_capacity_map(boost::get(&Edge::residual, graph))
            .reverse_edge_map(boost::get(&Edge::reverse, graph))
            .vertex_index_map(boost::get(boost::vertex_index, graph)));
  }

 private:
  int vertex_count_ = 2;
  std::map<int, int> vertices_;  // device -> vertex
  std::map<std::pair<int, int>, Rate> capacities_;
};

Rate rate_of(const Platform& platform, const Link& link) {
  return std::llround(platform.link_classes[static_cast<size_t>(link.link_class)].bandwidth.value);
}

Rate total_rate(const Platform& platform) {
  Rate total = 0;
  for (const Link& link : platform.links) total += rate_of(platform, link);
  return total;
}

// Per device of a node what can flow between it and the node's inside: the links of a NIC.
std::vector<Rate> inner_rates(const Platform& platform, Rate unlimited) {
  std::vector<Rate> rates(static_cast<size_t>(platform.node_device_count), 0);
  for (int i = 0; i < platform.node_link_count; ++i) {
    const Link& link = platform.links[static_cast<size_t>(i)];
    rates[static_cast<size_t>(link.from)] += rate_of(platform, link);
    rates[static_cast<size_t>(link.to)] += rate_of(platform, link);
  }
  for (Rate& rate : rates)
    if (rate == 0) rate = unlimited;
  return rates;
}

// The flow from the nodes of side 0 to those of side 1 over the fabric.
Rate flow_between_nodes(const Platform& platform, const std::vector<char>& sides, Rate unlimited) {
  const std::vector<Rate> inner = inner_rates(platform, unlimited);
  const auto end_of = [&](int device) {  // -1: a switch
    const int node = platform.devices[static_cast<size_t>(device)].node;
    if (node < 0) return -1;
    return sides[static_cast<size_t>(node)] == 0 ? FlowNetwork::kSource : FlowNetwork::kSink;
  };
  const auto first =
      static_cast<size_t>(platform.node_count) * static_cast<size_t>(platform.node_link_count);
  std::map<int, int> link_counts;  // of each port
  for (size_t i = first; i < platform.links.size(); ++i)
    for (int device : {platform.links[i].from, platform.links[i].to})
      if (end_of(device) >= 0) ++link_counts[device];

  FlowNetwork network;
  const auto inner_of = [&](int device) {
    return inner[static_cast<size_t>(device % platform.node_device_count)];
  };
  // A port with one link melts into its side; one with several is a vertex behind its inner rate.
  for (const auto& [device, count] : link_counts) {
    if (count < 2) continue;
    network.add(end_of(device), network.vertex(device), inner_of(device));
    network.add(network.vertex(device), end_of(device), inner_of(device));
  }
  for (size_t i = first; i < platform.links.size(); ++i) {
    const Link& link = platform.links[i];
    Rate rate = rate_of(platform, link);
    int ends[2];
    for (int which = 0; which < 2; ++which) {
      const int device = which == 0 ? link.from : link.to;
      const bool melts = end_of(device) >= 0 && link_counts.at(device) == 1;
      ends[which] = melts ? end_of(device) : network.vertex(device);
      if (melts) rate = std::min(rate, inner_of(device));
    }
    network.add(ends[0], ends[1], rate);
    network.add(ends[1], ends[0], rate);
  }
  return network.max_flow();
}

// One node only: between the halves of its endpoints, over its own links.
Rate flow_inside_node(const Platform& platform, const std::vector<char>& sides) {
  std::map<int, int> side_of;
  for (size_t i = 0; i < platform.endpoints.size(); ++i) side_of[platform.endpoints[i]] = sides[i];
  FlowNetwork network;
  const auto vertex = [&](int device) {
    const auto side = side_of.find(device);
    if (side == side_of.end()) return network.vertex(device);
    return side->second == 0 ? FlowNetwork::kSource : FlowNetwork::kSink;
  };
  for (const Link& link : platform.links) {
    const int from = vertex(link.from);
    const int to = vertex(link.to);
    network.add(from, to, rate_of(platform, link));
    network.add(to, from, rate_of(platform, link));
  }
  return network.max_flow();
}

std::vector<std::vector<char>> common_splits(size_t count) {
  std::vector<char> halves(count);
  std::vector<char> alternating(count);
  for (size_t i = 0; i < count; ++i) {
    halves[i] = 2 * i < count ? 0 : 1;
    alternating[i] = i % 2 == 0 ? 0 : 1;
  }
  return {halves, alternating};
}

}  // namespace

BytesPerSecond bisection_bandwidth(const Platform& platform) {
  const bool is_one_node = platform.node_count == 1;
  const size_t parts =
      is_one_node ? platform.endpoints.size() : static_cast<size_t>(platform.node_count);
  std::vector<std::vector<char>> splits = common_splits(parts);
  splits.insert(splits.end(), platform.fabric_splits.begin(), platform.fabric_splits.end());
  const Rate unlimited = total_rate(platform);
  if (parts < 2) return {0};
  Rate least = unlimited;
  for (const std::vector<char>& sides : splits)
    least = std::min(least, is_one_node ? flow_inside_node(platform, sides)
                                        : flow_between_nodes(platform, sides, unlimited));
  return {static_cast<double>(least)};
}

}  // namespace forescale
