// Bisection bandwidth: the least maximum flow over a few balanced splits of the nodes.
//
// The true bisection is the minimum over all balanced splits (NP-hard); the splits examined here
// (halves in node order, alternating nodes, the fabric's own) give an upper bound, which is exact
// for the regular fabrics of the generators. Kept small: a node's inside counts only as the links
// that its NIC hangs on, and all ports of one side behind one switch are one edge.
#include <algorithm>
#include <cmath>
#include <map>

#include "topologies/flow_network.hpp"
#include "topologies/platform.hpp"

namespace forescale {
namespace {

// Bandwidths in whole units: 1 byte/s, or more where the sum would not fit into a Flow.
struct Rates {
  double unit = 1;
  std::vector<Flow> of_class;
  std::vector<Flow> inner;  // per device of a node: what its links inside the node carry
};

Flow rate_of(const Rates& rates, const Link& link) {
  return rates.of_class[static_cast<size_t>(link.link_class)];
}

Rates rates_of(const Platform& platform) {
  Rates rates;
  double widest = 1;
  for (const LinkClass& each : platform.link_classes)
    widest = std::max(widest, each.bandwidth.value);
  // Both ways, on the links themselves and on a node's inside: 8 times their number is enough.
  const double total = 8 * widest * static_cast<double>(platform.links.size() + 1);
  const double kFlowMax = std::ldexp(1.0, 60);
  if (total > kFlowMax) rates.unit = total / kFlowMax;
  for (const LinkClass& each : platform.link_classes)
    rates.of_class.push_back(std::max<Flow>(1, std::llround(each.bandwidth.value / rates.unit)));
  rates.inner.assign(static_cast<size_t>(platform.node_device_count), 0);
  for (int i = 0; i < platform.node_link_count; ++i) {
    const Link& link = platform.links[static_cast<size_t>(i)];
    rates.inner[static_cast<size_t>(link.from)] += rate_of(rates, link);
    rates.inner[static_cast<size_t>(link.to)] += rate_of(rates, link);
  }
  return rates;
}

// The flow from the nodes of side 0 to those of side 1 over the fabric.
Flow flow_between_nodes(const Platform& platform, const Rates& rates,
                        const std::vector<char>& sides) {
  const auto end_of = [&](int device) {  // -1: a switch
    const int node = platform.devices[static_cast<size_t>(device)].node;
    if (node < 0) return -1;
    return sides[static_cast<size_t>(node)] == 0 ? FlowNetwork::kSource : FlowNetwork::kSink;
  };
  const auto first =
      static_cast<size_t>(platform.node_count) * static_cast<size_t>(platform.node_link_count);
  std::vector<int> link_counts(platform.devices.size(), 0);
  for (size_t i = first; i < platform.links.size(); ++i)
    for (int device : {platform.links[i].from, platform.links[i].to})
      ++link_counts[static_cast<size_t>(device)];

  FlowNetwork network;
  // 0 for a bare host: nothing limits it.
  const auto inner_of = [&](int device) {
    return rates.inner[static_cast<size_t>(device % platform.node_device_count)];
  };
  // A port with one link, or without a limit, melts into its side; one with several links is a
  // vertex behind its inner rate.
  const auto melts = [&](int device) {
    return end_of(device) >= 0 &&
           (link_counts[static_cast<size_t>(device)] < 2 || inner_of(device) == 0);
  };
  for (size_t device = 0; device < platform.devices.size(); ++device) {
    const int number = static_cast<int>(device);
    if (end_of(number) >= 0 && link_counts[device] > 0 && !melts(number))
      network.add_both_ways(end_of(number), network.vertex(number), inner_of(number));
  }
  for (size_t i = first; i < platform.links.size(); ++i) {
    const Link& link = platform.links[i];
    Flow rate = rate_of(rates, link);
    int ends[2] = {link.from, link.to};
    for (int& end : ends) {
      const int device = end;
      if (melts(device) && inner_of(device) > 0) rate = std::min(rate, inner_of(device));
      end = melts(device) ? end_of(device) : network.vertex(device);
    }
    network.add_both_ways(ends[0], ends[1], rate);
  }
  return network.max_flow();
}

// One node only: between the halves of its endpoints, over its own links.
Flow flow_inside_node(const Platform& platform, const Rates& rates,
                      const std::vector<char>& sides) {
  std::map<int, int> side_of;
  for (size_t i = 0; i < platform.endpoints.size(); ++i)
    side_of[platform.endpoints[i]] = sides[i] != 0 ? 1 : 0;
  FlowNetwork network;
  const auto vertex = [&](int device) {
    const auto side = side_of.find(device);
    if (side == side_of.end()) return network.vertex(device);
    return side->second == 0 ? FlowNetwork::kSource : FlowNetwork::kSink;
  };
  for (const Link& link : platform.links)
    network.add_both_ways(vertex(link.from), vertex(link.to), rate_of(rates, link));
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
  if (parts < 2) return {0};
  std::vector<std::vector<char>> splits = common_splits(parts);
  if (!is_one_node)
    splits.insert(splits.end(), platform.fabric_splits.begin(), platform.fabric_splits.end());
  const Rates rates = rates_of(platform);
  std::vector<Flow> flows;
  for (const std::vector<char>& sides : splits)
    flows.push_back(is_one_node ? flow_inside_node(platform, rates, sides)
                                : flow_between_nodes(platform, rates, sides));
  return {rates.unit * static_cast<double>(*std::min_element(flows.begin(), flows.end()))};
}

}  // namespace forescale
