#include "sim/engine/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"

namespace forescale {

Machine::Machine(World& world, const Platform& platform, const Stack& stack, int rank_count)
    : world_(world), lanes_(platform, stack), rank_count_(rank_count) {
  if (rank_count > platform.slot_count())
    throw InputError({.source = "--gpus",
                      .path = "",
                      .value = std::to_string(rank_count),
                      .constraint = fmt::format("must be <= {}, the slots of platform {}",
                                                platform.slot_count(), platform.name)});
  std::vector<char> node_in_use(static_cast<size_t>(platform.node_count), 0);
  for (int rank = 0; rank < rank_count; ++rank) {
    const int device = platform.endpoints[static_cast<size_t>(rank)];
    node_in_use[static_cast<size_t>(platform.devices[static_cast<size_t>(device)].node)] = 1;
  }
  const auto in_use = [&](int device) {
    const int node = platform.devices[static_cast<size_t>(device)].node;
    return node < 0 || node_in_use[static_cast<size_t>(node)] != 0;
  };
  for (size_t i = 0; i < platform.links.size(); ++i) {
    const Link& link = platform.links[i];
    if (!in_use(link.from) || !in_use(link.to)) continue;
    add({ResourceKind::kLink, static_cast<std::int32_t>(2 * i), -1});
    if (platform.link_classes[static_cast<size_t>(link.link_class)].full_duplex)
      add({ResourceKind::kLink, static_cast<std::int32_t>(2 * i + 1), -1});
  }
  std::set<int> hosts;
  std::vector<std::set<int>> capped_devices(stack.paths.size());  // so far, with a pair cap
  for (int rank = 0; rank < rank_count; ++rank) {
    const int device = platform.endpoints[static_cast<size_t>(rank)];
    if (!platform.cpu_models.empty()) {
      hosts.insert(platform.host_of(device));
      add({ResourceKind::kCore, device, -1});
    }
    if (platform.devices[static_cast<size_t>(device)].kind == DeviceKind::kGpu ||
        platform.gpus_are_emulated) {
      add({ResourceKind::kCopyOut, device, -1});
      add({ResourceKind::kCopyIn, device, -1});
    }
    gpus_.push_back(world.add_processor("processor " + std::to_string(rank)));
    for (size_t i = 0; i < stack.paths.size(); ++i) {
      const PathRule& rule = stack.paths[i];
      const auto index = static_cast<std::int32_t>(i);
      const bool host_buffers = rule.buffers == BufferPlace::kHost && platform.has_gpus();
      const int capped = host_buffers ? platform.host_of(device) : device;
      if (rule.read_cap.value > 0) add({ResourceKind::kReadCap, capped, index});
      if (rule.write_cap.value > 0) add({ResourceKind::kWriteCap, capped, index});
      if (rule.duplex_cap.value > 0) add({ResourceKind::kDuplexCap, capped, index});
      if (rule.pair_cap.value > 0) {
        for (const int other : capped_devices[i])
          add({.kind = ResourceKind::kPairCap,
               .index = std::min(capped, other),
               .rule = index,
               .other = std::max(capped, other)});
        capped_devices[i].insert(capped);
      }
      for (int channel = 0; rule.connection_cap.value > 0 && channel < stack.channels; ++channel)
        add({ResourceKind::kConnection, device, index, channel});
    }
  }
  for (size_t i = 0; i < stack.paths.size(); ++i)
    if (stack.paths[i].fabric_cap.value > 0)
      add({ResourceKind::kFabricCap, 0, static_cast<std::int32_t>(i)});
  if (stack.shared_cores > 0)
    shared_cores_ = world.add_processor("shared cores", stack.shared_cores);
  for (int host : hosts) {
    add({ResourceKind::kMemoryRead, host, -1});
    add({ResourceKind::kMemoryWrite, host, -1});
  }
}

void Machine::add(const Resource& resource) {
  const double bandwidth = lanes_.bandwidth(resource);
  // Servers may share a host.
  if (!std::isfinite(bandwidth) || resources_.contains(resource)) return;
  const std::string name =
      fmt::format("{}:{}:{}:{}:{}", static_cast<int>(resource.kind), resource.index, resource.rule,
                  resource.channel, resource.other);
  Carried& made = resources_[resource];
  made.link = world_.add_link(name, bandwidth);
  if (const double burst = lanes_.burst_bytes(resource); burst > 0)
    made.bucket = std::make_unique<Bucket>(
        Bucket{.burst_bytes = burst, .rate_bytes_per_s = bandwidth, .tokens = burst});
}

double Machine::enter(const Path& path, double bytes) {
  if (path.buckets.empty()) return 0;
  const double now_s = world_.now_s();
  double spared = bytes;
  for (Bucket* bucket : path.buckets) {
    if (bucket->flows == 0)
      bucket->tokens =
          std::min(bucket->burst_bytes,
                   bucket->tokens + bucket->rate_bytes_per_s * (now_s - bucket->since_s));
    bucket->since_s = now_s;
    spared = std::min(spared, bucket->tokens);
  }
  constexpr double kRounding_bytes = 1e-6;
  spared = std::floor(spared + kRounding_bytes);  // flows carry whole bytes
  for (Bucket* bucket : path.buckets) {
    bucket->tokens -= spared;
    ++bucket->flows;
  }
  for (double* total : path.at_once) *total += spared;
  return spared;
}

void Machine::leave(const Path& path) {
  for (Bucket* bucket : path.buckets)
    if (--bucket->flows == 0) bucket->since_s = world_.now_s();
}

SimLink Machine::link(const Resource& resource) const { return resources_.at(resource).link; }

Machine::Path Machine::path_of(std::vector<Resource> resources, int channel) {
  Path path;
  std::vector<double*> at_once;
  for (Resource& resource : resources) {
    if (resource.kind == ResourceKind::kConnection) resource.channel = channel;
    const auto entry = resources_.find(resource);
    if (entry == resources_.end()) continue;  // never limits
    path.links.push_back(entry->second.link);
    path.carried.push_back(&entry->second.bytes);
    if (entry->second.bucket) path.buckets.push_back(entry->second.bucket.get());
    at_once.push_back(&entry->second.at_once);
  }
  if (!path.buckets.empty()) path.at_once = std::move(at_once);
  return path;
}

const Machine::Path& Machine::path(const Lane& lane, int channel) {
  const auto channels = static_cast<size_t>(lanes_.stack().channels);
  const size_t id = static_cast<size_t>(lane.id) * channels + static_cast<size_t>(channel);
  if (id >= lane_paths_.size()) lane_paths_.resize(id + 1);
  if (!lane_paths_[id]) lane_paths_[id] = std::make_unique<Path>(path_of(lane.resources, channel));
  return *lane_paths_[id];
}

const std::vector<Machine::Path>& Machine::stage_paths(const Lane& lane) {
  auto [entry, fresh] = stage_paths_.try_emplace(lane.id);
  if (fresh)
    for (const Lane::Stage& stage : lane.stages) entry->second.push_back(path_of(stage.resources));
  return entry->second;
}

const Machine::Path& Machine::reduction_path(int rank) {
  auto [entry, fresh] = reduction_paths_.try_emplace(rank);
  if (fresh) entry->second = path_of(lanes_.reduction_resources(rank));
  return entry->second;
}

const Machine::Path& Machine::copy_out_path(int rank) {
  auto [entry, fresh] = copy_out_paths_.try_emplace(rank);
  if (fresh) entry->second = path_of(lanes_.copy_out(rank));
  return entry->second;
}

const Machine::Path& Machine::copy_in_path(int rank) {
  auto [entry, fresh] = copy_in_paths_.try_emplace(rank);
  if (fresh) entry->second = path_of(lanes_.copy_in(rank));
  return entry->second;
}

const Machine::Path& Machine::host_memory_path(int rank) {
  auto [entry, fresh] = host_memory_paths_.try_emplace(rank);
  if (fresh) entry->second = path_of(lanes_.host_memory(rank));
  return entry->second;
}

void Machine::watch(LinkUse& use) {
  std::map<SimLink, int> numbers;
  for (const auto& [resource, carried] : resources_)
    numbers[carried.link] = use.add_link(lanes_.name(resource), lanes_.bandwidth(resource));
  world_.observe_flows([this, &use, numbers = std::move(numbers)](const std::vector<SimLink>& route,
                                                                  double bytes, double begin_s) {
    for (SimLink link : route)
      if (const auto known = numbers.find(link); known != numbers.end())
        use.add_flow(known->second, begin_s, world_.now_s(), bytes);
  });
}

Machine::Busiest Machine::busiest() const {
  Busiest busiest;
  for (const auto& [resource, carried] : resources_) {
    const double busy_s = (carried.bytes - carried.at_once) / lanes_.bandwidth(resource);
    if (busy_s > busiest.busy_s)
      busiest = {.name = lanes_.name(resource), .busy_s = busy_s, .bytes = carried.bytes};
  }
  return busiest;
}

}  // namespace forescale
