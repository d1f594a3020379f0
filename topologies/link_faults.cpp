#include "topologies/link_faults.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/seeded_random.hpp"
#include "topologies/node_routes.hpp"

namespace forescale {
namespace {

constexpr const char* kBetween = "--";

[[noreturn]] void refuse_link(const std::string& source, const std::string& name,
                              const std::string& constraint) {
  throw InputError({.source = source, .path = "", .value = name, .constraint = constraint});
}

// The links that a name means.
class NamedLinks {
 public:
  NamedLinks(const Platform& platform, std::string source)
      : platform_(platform), source_(std::move(source)) {
    for (size_t device = 0; device < platform.devices.size(); ++device)
      devices_.emplace(platform.devices[device].name, static_cast<int>(device));
  }

  std::vector<int> of(const std::string& name) const {
    const size_t between = name.find(kBetween);
    if (between != std::string::npos)
      return of_two(name, device(name.substr(0, between)), device(name.substr(between + 2)));
    if (const int node = node_of(name); node >= 0)
      return where(name, [&](const Link& link) {
        return leaves_node(link) && (node_at(link.from) == node || node_at(link.to) == node);
      });
    const int end = device(name);
    std::vector<int> outside = where("", [&](const Link& link) {
      return leaves_node(link) && (link.from == end || link.to == end);
    });
    if (!outside.empty()) return outside;
    return where(name, [&](const Link& link) { return link.from == end || link.to == end; });
  }

  bool leaves_node(const Link& link) const { return node_at(link.from) != node_at(link.to); }
  // Between nodes or between switches.
  bool is_of_fabric(const Link& link) const { return leaves_node(link) || node_at(link.from) < 0; }

 private:
  int node_at(int device) const { return platform_.devices[static_cast<size_t>(device)].node; }

  // "node3"; -1: no node's name.
  int node_of(const std::string& name) const {
    const std::string prefix = "node";
    if (devices_.contains(name) || !name.starts_with(prefix) || name.size() == prefix.size() ||
        name.find_first_not_of("0123456789", prefix.size()) != std::string::npos)
      return -1;
    const long node = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
    if (node >= platform_.node_count)
      refuse_link(source_, name, fmt::format("must be below node{}", platform_.node_count));
    return static_cast<int>(node);
  }

  int device(const std::string& name) const {
    const auto found = devices_.find(name);
    if (found == devices_.end()) {
      std::vector<std::string> names;
      for (const auto& [known, number] : devices_) names.push_back(known);
      const std::string near = nearest(name, names);
      refuse_link(source_, name,
                  fmt::format("device is unknown{}; forescale platform show --dot writes all",
                              near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
    }
    return found->second;
  }

  std::vector<int> of_two(const std::string& name, int one, int other) const {
    std::set<std::string> neighbours;
    std::vector<int> links = where("", [&](const Link& link) {
      if (link.from == one) neighbours.insert(platform_.devices[static_cast<size_t>(link.to)].name);
      if (link.to == one) neighbours.insert(platform_.devices[static_cast<size_t>(link.from)].name);
      return (link.from == one && link.to == other) || (link.from == other && link.to == one);
    });
    if (!links.empty()) return links;
    const std::vector<std::string> all(neighbours.begin(), neighbours.end());
    refuse_link(
        source_, name,
        fmt::format("must be linked: {} is {}", platform_.devices[static_cast<size_t>(other)].name,
                    unknown_name(platform_.devices[static_cast<size_t>(other)].name, all)));
  }

  // Those of which `is_meant` is true; at least one where there is a name for an error.
  template <class Meant>
  std::vector<int> where(const std::string& name, const Meant& is_meant) const {
    std::vector<int> links;
    for (size_t link = 0; link < platform_.links.size(); ++link)
      if (is_meant(platform_.links[link])) links.push_back(static_cast<int>(link));
    if (links.empty() && !name.empty()) refuse_link(source_, name, "has no links");
    return links;
  }

  const Platform& platform_;
  std::string source_;
  std::map<std::string, int> devices_;
};

// Shortest ways over the links of a fabric that are left.
class Detours {
 public:
  Detours(const Platform& platform, const std::set<int>& down) : down_(down) {
    ends_.resize(platform.devices.size());
    is_switch_.resize(platform.devices.size());
    for (size_t device = 0; device < platform.devices.size(); ++device)
      is_switch_[device] = platform.devices[device].kind == DeviceKind::kFabricSwitch;
    for (size_t i = 0; i < platform.links.size(); ++i) {
      const Link& link = platform.links[i];
      const auto number = static_cast<int>(i);
      const bool is_of_fabric =
          is_switch_[static_cast<size_t>(link.from)] || is_switch_[static_cast<size_t>(link.to)];
      if (!is_of_fabric || down.contains(number)) continue;
      const LinkClass& properties = platform.link_classes[static_cast<size_t>(link.link_class)];
      const int back = properties.full_duplex ? 2 * number + 1 : 2 * number;
      ends_[static_cast<size_t>(link.from)].push_back(
          {.there = link.to, .leaving = 2 * number, .latency = properties.latency});
      ends_[static_cast<size_t>(link.to)].push_back(
          {.there = link.from, .leaving = back, .latency = properties.latency});
    }
  }

  bool has_links(int device) const { return !ends_[static_cast<size_t>(device)].empty(); }
  bool are_joined(int from, int to) const { return hops_to(to)[static_cast<size_t>(from)] >= 0; }

  bool crosses_down(const Route& route) const {
    return std::any_of(route.capacities.begin(), route.capacities.end(),
                       [&](Capacity capacity) { return down_.contains(capacity / 2); });
  }

  Route around(int from, int to) const {
    const std::vector<int>& hops = hops_to(to);
    Route route;
    std::uint64_t hash = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
    for (int here = from; here != to;) {
      std::vector<const End*> nearer;
      for (const End& end : ends_[static_cast<size_t>(here)])
        if (hops[static_cast<size_t>(end.there)] == hops[static_cast<size_t>(here)] - 1)
          nearer.push_back(&end);
      hash = mixed(hash);
      const End& next = *nearer[hash % nearer.size()];
      route.capacities.push_back(next.leaving);
      route.latency += next.latency;
      here = next.there;
    }
    return route;
  }

 private:
  struct End {
    int there = 0;
    Capacity leaving = 0;
    Seconds latency;
  };

  // By device, links to `to` over switches alone; -1: none leads there.
  const std::vector<int>& hops_to(int to) const {
    std::vector<int>& hops = hops_[to];
    if (!hops.empty()) return hops;
    hops.assign(ends_.size(), -1);
    hops[static_cast<size_t>(to)] = 0;
    std::vector<int> reached{to};
    for (size_t at = 0; at < reached.size(); ++at) {
      const auto here = static_cast<size_t>(reached[at]);
      if (reached[at] != to && !is_switch_[here]) continue;
      for (const End& end : ends_[here]) {
        int& there = hops[static_cast<size_t>(end.there)];
        if (there >= 0) continue;
        there = hops[here] + 1;
        reached.push_back(end.there);
      }
    }
    return hops;
  }

  std::set<int> down_;
  std::vector<std::vector<End>> ends_;  // by device
  std::vector<char> is_switch_;
  mutable std::map<int, std::vector<int>> hops_;
};

// Devices of a node whose adapter has no link left use another one.
void use_other_adapters(Platform& platform, const Detours& detours, const std::string& source) {
  const NodeRoutes& routes = *platform.node_routes;
  for (int node = 0; node < platform.node_count; ++node) {
    const int first = node * platform.node_device_count;
    std::vector<int> left;
    for (const int port : routes.ports)
      if (detours.has_links(first + port)) left.push_back(port);
    if (left.empty())
      refuse_link(source, fmt::format("node{}", node), "must keep a link that is not down");
    for (int device = 0; device < platform.node_device_count; ++device) {
      const int numbered = first + device;
      int& nic = platform.nic_of_device.edit()[static_cast<size_t>(numbered)];
      if (nic < 0 || detours.has_links(nic)) continue;
      const auto distance = [&](int port) {
        return std::make_pair(routes.between(device, port).crosses_socket,
                              routes.between(device, port).route.capacities.size());
      };
      const int nearest = *std::min_element(
          left.begin(), left.end(), [&](int a, int b) { return distance(a) < distance(b); });
      std::vector<int> as_near;
      for (const int port : left)
        if (distance(port) == distance(nearest)) as_near.push_back(port);
      nic = first + as_near[static_cast<size_t>(device) % as_near.size()];
    }
  }
}

void go_around(Platform& platform, const std::set<int>& down, const std::string& source) {
  const auto detours = std::make_shared<Detours>(platform, down);
  use_other_adapters(platform, *detours, source);
  const auto adapter = [&](int node) {
    return platform.nic_of(node * platform.node_device_count +
                           platform.node_routes->endpoints.front());
  };
  for (int node = 1; node < platform.node_count; ++node)
    if (!detours->are_joined(adapter(node), adapter(0)))
      refuse_link(source, fmt::format("node{}", node),
                  "must be joined to node0 by links that are not down");
  platform.fabric_route = [detours, before = platform.fabric_route](int from, int to) {
    Route route = before(from, to);
    return detours->crosses_down(route) ? detours->around(from, to) : route;
  };
}

void slow_down(Platform& platform, int number, double share) {
  Link& link = platform.links.edit()[static_cast<size_t>(number)];
  LinkClass slow = platform.link_classes[static_cast<size_t>(link.link_class)];
  slow.name = fmt::format("{} at {:g}", slow.name, share);
  slow.bandwidth = share * slow.bandwidth;
  slow.burst = {};
  link.link_class = static_cast<int>(platform.link_classes.size());
  platform.link_classes.push_back(std::move(slow));
}

void add_nodes_of(int number, Platform& platform) {
  const Link& link = platform.links[static_cast<size_t>(number)];
  for (const int device : {link.from, link.to}) {
    const int node = platform.devices[static_cast<size_t>(device)].node;
    if (node >= 0) platform.unlike_nodes.insert(node);
  }
}

}  // namespace

LinkFault parse_link_fault(const std::string& text, const std::string& source) {
  if (text == "down") return {.kind = LinkFault::Kind::kDown};
  if (text == "lost") return {.kind = LinkFault::Kind::kLost};
  char* end = nullptr;
  const double share = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(share > 0 && share <= 1))
    refuse_link(source, text.empty() ? "\"\"" : text,
                "must be a share of its bandwidth above 0 and at most 1, down or lost");
  return {.kind = LinkFault::Kind::kSlow, .share = share};
}

void apply_link_faults(Platform& platform, const std::map<std::string, std::string>& links,
                       const std::string& source) {
  if (links.empty()) return;
  const NamedLinks named(platform, source);
  std::set<int> down;
  std::map<int, double> slow;
  for (const auto& [name, text] : links) {
    const LinkFault fault = parse_link_fault(text, source);
    for (const int number : named.of(name)) {
      if (fault.kind == LinkFault::Kind::kSlow) {
        slow.emplace(number, fault.share);
        continue;
      }
      if (!named.is_of_fabric(platform.links[static_cast<size_t>(number)]))
        refuse_link(source, name, "is inside a node: it can be slow, but not " + text);
      (fault.kind == LinkFault::Kind::kDown ? down : platform.lost_links).insert(number);
    }
  }
  for (const auto& [number, share] : slow) slow_down(platform, number, share);
  if (!down.empty()) go_around(platform, down, source);
  platform.uniform_pairs = false;
  for (const auto& [number, share] : slow) add_nodes_of(number, platform);
  for (const int number : down) add_nodes_of(number, platform);
}

std::string faults_elsewhere(const Platform& platform, const std::set<int>& nodes) {
  const std::set<int>& faulty = platform.unlike_nodes;
  if (faulty.empty() ||
      std::any_of(faulty.begin(), faulty.end(), [&](int node) { return nodes.contains(node); }))
    return "";
  return fmt::format("the links that are not as they should be are of node{}, where no rank is",
                     fmt::join(faulty, ", node"));
}

}  // namespace forescale
