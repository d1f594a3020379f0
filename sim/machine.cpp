#include "sim/machine.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "models/error.hpp"

namespace forescale {

Machine::Machine(World& world, const Platform& platform, const Stack& stack, int rank_count)
    : world_(world), platform_(platform), lanes_(platform, stack), rank_count_(rank_count) {
  if (rank_count > platform.slot_count())
    throw InputError({.source = "--gpus",
                      .path = "",
                      .value = std::to_string(rank_count),
                      .constraint = fmt::format("must be <= {}, the slots of platform {}",
                                                platform.slot_count(), platform.name)});
  int last_node = 0;
  for (int rank = 0; rank < rank_count; ++rank)
    last_node = std::max(
        last_node,
        platform.devices[static_cast<size_t>(platform.endpoints[static_cast<size_t>(rank)])].node);
  const auto in_use = [&](int device) {
    return platform.devices[static_cast<size_t>(device)].node <= last_node;
  };
  for (size_t i = 0; i < platform.links.size(); ++i) {
    const Link& link = platform.links[i];
    if (!in_use(link.from) || !in_use(link.to)) continue;
    add({ResourceKind::kLink, static_cast<std::int32_t>(2 * i), -1});
    if (platform.link_classes[static_cast<size_t>(link.link_class)].full_duplex)
      add({ResourceKind::kLink, static_cast<std::int32_t>(2 * i + 1), -1});
  }
  std::set<int> hosts;
  for (int rank = 0; rank < rank_count; ++rank) {
    const int device = platform.endpoints[static_cast<size_t>(rank)];
    if (!platform.cpu_models.empty()) {
      hosts.insert(platform.host_of(device));
      add({ResourceKind::kCore, device, -1});
    }
    if (platform.has_gpus()) {
      add({ResourceKind::kCopyOut, device, -1});
      add({ResourceKind::kCopyIn, device, -1});
    }
    gpus_.push_back(world.add_processor("processor " + std::to_string(rank)));
    for (size_t i = 0; i < stack.paths.size(); ++i) {
      const PathRule& rule = stack.paths[i];
      const auto index = static_cast<std::int32_t>(i);
      if (rule.read_cap.value > 0) add({ResourceKind::kReadCap, device, index});
      if (rule.write_cap.value > 0) add({ResourceKind::kWriteCap, device, index});
      if (rule.connection_cap.value > 0) add({ResourceKind::kConnection, device, index});
    }
  }
  for (int host : hosts) {
    add({ResourceKind::kMemoryRead, host, -1});
    add({ResourceKind::kMemoryWrite, host, -1});
  }
}

void Machine::add(const Resource& resource) {
  const double bandwidth = lanes_.bandwidth(resource);
  if (!std::isfinite(bandwidth)) return;
  const std::string name = fmt::format("{}:{}:{}", static_cast<int>(resource.kind),
                                       resource.index, resource.rule);
  resources_[resource] = {.link = world_.add_link(name, bandwidth), .bytes = 0};
}

SimLink Machine::link(const Resource& resource) const { return resources_.at(resource).link; }

std::vector<SimLink> Machine::links_of(const std::vector<Resource>& resources) const {
  std::vector<SimLink> links;
  for (const Resource& resource : resources) {
    const auto entry = resources_.find(resource);
    if (entry != resources_.end()) links.push_back(entry->second.link);
  }
  return links;
}

const std::vector<SimLink>& Machine::route(const Lane& lane, std::int64_t bytes) {
  auto [entry, fresh] = routes_.try_emplace(&lane);
  if (fresh) entry->second = links_of(lane.resources);
  account(lane.resources, static_cast<double>(bytes));
  return entry->second;
}

const std::vector<SimLink>& Machine::cached(std::map<int, std::vector<SimLink>>& cache, int rank,
                                            const std::vector<Resource>& resources) {
  auto [entry, fresh] = cache.try_emplace(rank);
  if (fresh) entry->second = links_of(resources);
  return entry->second;
}

const std::vector<SimLink>& Machine::reduction_route(int rank) {
  return cached(reduction_routes_, rank, lanes_.reduction_resources(rank));
}

const std::vector<SimLink>& Machine::copy_out_route(int rank) {
  return cached(copy_out_routes_, rank, lanes_.copy_out(rank));
}

const std::vector<SimLink>& Machine::copy_in_route(int rank) {
  return cached(copy_in_routes_, rank, lanes_.copy_in(rank));
}

void Machine::account(const std::vector<Resource>& resources, double bytes) {
  for (const Resource& resource : resources) {
    const auto entry = resources_.find(resource);
    if (entry != resources_.end()) entry->second.bytes += bytes;
  }
}

void Machine::clear_accounts() {
  for (auto& [resource, carried] : resources_) carried.bytes = 0;
}

Machine::Busiest Machine::busiest() const {
  Busiest busiest;
  for (const auto& [resource, carried] : resources_) {
    const double busy_s = carried.bytes / lanes_.bandwidth(resource);
    if (busy_s > busiest.busy_s)
      busiest = {.name = lanes_.name(resource), .busy_s = busy_s, .bytes = carried.bytes};
  }
  return busiest;
}

}  // namespace forescale
