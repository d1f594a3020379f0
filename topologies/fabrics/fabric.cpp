#include "topologies/fabrics/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "topologies/node_template.hpp"

namespace forescale {
namespace {

// What a fabric's generator makes: bare hosts, one device each. "cpu" says what adds and copies
// there.
void generate_hosts(const Fabric& fabric, Platform& platform, const JsonInput& in) {
  allow_only_keys(fabric, in, true);
  LinkReader classes(platform);
  const std::int64_t hosts = fabric.host_count(in);
  place_nodes(platform, bare_host(), static_cast<int>(hosts), in);
  if (const auto cpu = in.find("cpu")) {
    read_cpu(platform, *cpu);
    platform.cores_per_node = platform.cpu_models.front().cores;
  }
  FabricSite site(platform, classes, in, true);
  build_fabric(fabric, site);
}

}  // namespace

void FabricSite::check_room(std::int64_t port_count_max) const {
  if (port_count() > port_count_max)
    in.fail(fmt::format("must have room for {} ports (NICs or hosts); it has {}", port_count(),
                        port_count_max));
}

void allow_only_keys(const Fabric& fabric, const JsonInput& in, bool is_generated) {
  std::vector<std::string> keys = fabric.keys;
  if (is_generated) {
    keys.push_back("cpu");
    keys.insert(keys.end(), fabric.generator_keys.begin(), fabric.generator_keys.end());
  }
  for (const std::string& prefix : fabric.link_prefixes) {
    keys.push_back(prefix + "link");
    if (!is_generated) continue;
    for (const char* key : {"bandwidth", "latency", "duplex"}) keys.push_back(prefix + key);
  }
  if (!is_generated) keys.push_back("layout");
  for (const std::string& key : in.keys()) {
    if (key == "note" || key == "source") continue;
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      throw InputError({.source = in.file(),
                        .path = in.path() + "/" + key,
                        .value = "",
                        .constraint = "key is " + unknown_name(key, keys)});
  }
}

int FabricSite::link_class(const LinkKeys& keys) {
  const std::string link = keys.prefix + "link";
  const std::string bandwidth = keys.prefix + "bandwidth";
  const std::string latency = keys.prefix + "latency";
  const std::string duplex = keys.prefix + "duplex";
  const bool has_numbers = in.has(bandwidth) || in.has(latency) || in.has(duplex);
  if (in.has(link)) {
    if (has_numbers) in.at(link).fail(fmt::format("must not be given beside \"{}\"", bandwidth));
    return classes_.read(in.at(link));
  }
  if (!has_numbers && keys.fallback >= 0) return keys.fallback;
  if (!is_generated) return classes_.read(in.at(link));
  const auto way = in.find(duplex);
  return classes_.add({.name = keys.prefix + "link",
                       .bandwidth = in.at(bandwidth).bandwidth(),
                       .latency = keys.latency_share * in.at(latency).seconds(),
                       .full_duplex = !way || way->one_of({"full", "half"}) == "full"});
}

int FabricSite::together(int link_class_, std::int64_t count) {
  if (count == 1) return link_class_;
  LinkClass all = platform.link_classes[static_cast<size_t>(link_class_)];
  all.name = fmt::format("{} x {}", count, all.name);
  all.bandwidth = static_cast<double>(count) * all.bandwidth;
  return classes_.add(all);
}

int FabricSite::add_switch(const std::string& name) {
  platform.devices.edit().push_back(
      {.kind = DeviceKind::kFabricSwitch, .node = -1, .socket = -1, .name = name});
  return static_cast<int>(platform.devices.size()) - 1;
}

LinkRun FabricSite::start_run(int link_class_) const {
  const LinkClass& properties = platform.link_classes[static_cast<size_t>(link_class_)];
  return {.first = static_cast<int>(platform.links.size()),
          .full_duplex = properties.full_duplex,
          .latency = properties.latency};
}

void FabricSite::add_link(int from, int to, int link_class_) {
  platform.links.edit().push_back({.from = from, .to = to, .link_class = link_class_});
}

bool add_fabric(Fabric fabric) {
  if (fabric.host_count)
    Registry<Generator>::add({.name = fabric.name,
                              .usage = fabric.usage + "[,cpu=NAME]",
                              .summary = fabric.summary,
                              .generate = [fabric](Platform& platform, const JsonInput& in) {
                                generate_hosts(fabric, platform, in);
                              }});
  return Registry<Fabric>::add(std::move(fabric));
}

void build_fabric(const Fabric& fabric, FabricSite& site) {
  Platform& platform = site.platform;
  site.ports = fabric_ports(platform);
  platform.fabric_summary = fabric.name;
  const PortRoute port_route = fabric.build(site);
  // Not `platform` itself: it moves. The number of a port from that of its device.
  const int per_node = static_cast<int>(site.port_count()) / platform.node_count;
  const int devices = platform.node_device_count;
  std::vector<int> place(static_cast<size_t>(devices), 0);
  for (int k = 0; k < per_node; ++k)
    place[static_cast<size_t>(site.ports[static_cast<size_t>(k)])] = k;
  platform.fabric_route = [port_route, per_node, devices, place](int from, int to) {
    const auto port_of = [&](int device) {
      return device / devices * per_node + place[static_cast<size_t>(device % devices)];
    };
    return port_route(port_of(from), port_of(to));
  };
  platform.host_of_device.edit().resize(platform.devices.size(), -1);
  platform.nic_of_device.edit().resize(platform.devices.size(), -1);
}

std::int64_t hosts_or(const JsonInput& in, std::int64_t room) {
  if (room > kHostsMax) in.fail(fmt::format("must not ask for more than {} hosts", kHostsMax));
  const auto hosts = in.find("hosts");
  return hosts ? hosts->integer(1, room) : room;
}

std::vector<std::int64_t> integer_list(const JsonInput& in, std::int64_t min, std::int64_t max) {
  if (!in.is_array()) return {in.integer(min, max)};
  std::vector<std::int64_t> list;
  for (const JsonInput& element : in.elements()) list.push_back(element.integer(min, max));
  if (list.empty()) in.fail("must not be empty");
  return list;
}

}  // namespace forescale
