#include "sim/engine/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/plan.hpp"
#include "base/error.hpp"

namespace forescale {

Machine::Machine(World& world, const Platform& platform, const Stack& stack, int rank_count,
                 const AlikeMembers* alike)
    : world_(world), lanes_(platform, stack), rank_count_(rank_count), alike_(alike) {
  if (rank_count > platform.slot_count())
    throw InputError({.source = "--gpus",
                      .path = "",
                      .value = std::to_string(rank_count),
                      .constraint = fmt::format("must be <= {}, the slots of platform {}",
                                                platform.slot_count(), platform.name)});
  gpus_.assign(static_cast<size_t>(rank_count), kNotMade);
  if (stack.shared_cores > 0) shared_cores_ = world.add_processor(stack.shared_cores);
}

int Machine::gpu(int rank) {
  int& gpu = gpus_[static_cast<size_t>(rank)];
  if (gpu == kNotMade) gpu = world_.add_processor(1);
  return gpu;
}

// Whether the machine has such a thing, and it can limit a flow.
bool Machine::limits(const Resource& resource) const {
  const Platform& platform = lanes_.platform();
  switch (resource.kind) {
    case ResourceKind::kCore:
      if (platform.cpu_models.empty()) return false;
      break;
    case ResourceKind::kCopyOut:
    case ResourceKind::kCopyIn:
      if (platform.devices[static_cast<size_t>(resource.index)].kind != DeviceKind::kGpu &&
          !platform.gpus_are_emulated)
        return false;
      break;
    default:
      break;
  }
  return std::isfinite(lanes_.bandwidth(resource));
}

AlikeMembers::Standing Machine::standing_for(const Resource& resource) const {
  if (alike_ == nullptr) return {.resource = resource};
  if (const auto found = alike_->standing.find(resource); found != alike_->standing.end())
    return found->second;
  FORESCALE_CHECK(is_of_a_member(resource), "what members that are alike use has been turned");
  AlikeMembers::Standing own{.resource = resource};
  const bool is_of_a_pair = resource.kind == ResourceKind::kConnection && resource.other >= 0;
  if (const auto sender = alike_->senders.find(resource.index);
      !is_of_a_pair && sender != alike_->senders.end())
    own.resource.index = sender->second;
  return own;
}

Machine::Carried* Machine::carried(const Resource& asked) {
  const AlikeMembers::Standing standing = standing_for(asked);
  const Resource& resource = standing.resource;
  const auto known = resources_.find(resource);
  if (known != resources_.end()) return &known->second;
  if (!limits(resource)) return nullptr;
  const double bandwidth = standing.share * lanes_.bandwidth(resource);
  Carried& made = resources_[resource];
  made.bandwidth_bytes_per_s = bandwidth;
  made.link = world_.add_link(bandwidth);
  resource_of_.emplace(made.link, resource);
  if (const double burst = lanes_.burst_bytes(resource); burst > 0)
    made.bucket = std::make_unique<Bucket>(
        Bucket{.burst_bytes = burst, .rate_bytes_per_s = bandwidth, .tokens = burst});
  return &made;
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

SimLink Machine::link(const Resource& resource) {
  Carried* made = carried(resource);
  FORESCALE_CHECK(made != nullptr, "a link that limits");
  return made->link;
}

Machine::Path Machine::path_of(std::vector<Resource> resources, int channel) {
  Path path;
  std::vector<double*> at_once;
  for (Resource& resource : resources) {
    if (resource.kind == ResourceKind::kConnection) resource.channel = channel;
    if (resource.kind == ResourceKind::kChannel)
      resource.channel = channel - channel % kQueuesMax + channel_of_queue(channel % kQueuesMax);
    Carried* const made = carried(resource);
    if (made == nullptr) continue;
    path.links.push_back(made->link);
    path.carried.push_back(&made->bytes);
    if (made->bucket) path.buckets.push_back(made->bucket.get());
    at_once.push_back(&made->at_once);
  }
  if (!path.buckets.empty()) path.at_once = std::move(at_once);
  return path;
}

const Machine::Path& Machine::path(const Lane& lane, int channel) {
  if (lane_paths_.size() <= static_cast<size_t>(lane.id))
    lane_paths_.resize(static_cast<size_t>(lane.id) + 1);
  std::vector<std::unique_ptr<Path>>& paths = lane_paths_[static_cast<size_t>(lane.id)];
  const bool is_alone = lane.rule->connection_cap.value <= 0 &&
                        lane.rule->channel_cap.value <= 0;  // all channels go the same way
  const auto number = static_cast<size_t>(is_alone ? 0 : channel);
  if (paths.size() <= number) paths.resize(number + 1);
  if (!paths[number]) paths[number] = std::make_unique<Path>(path_of(lane.resources, channel));
  return *paths[number];
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
  world_.observe_flows([this, &use, numbers = std::map<SimLink, int>()](
                           std::span<const SimLink> route, double bytes, double begin_s) mutable {
    for (SimLink link : route) {
      const auto made = resource_of_.find(link);
      if (made == resource_of_.end()) continue;  // storage's
      const auto [known, is_new] = numbers.try_emplace(link, 0);
      if (is_new)
        known->second = use.add_link(lanes_.name(made->second), lanes_.bandwidth(made->second));
      use.add_flow(known->second, begin_s, world_.now_s(), bytes);
    }
  });
}

void Machine::add_up() const {
  const auto add = [](const Path& path) {
    for (double* total : path.carried) *total += path.accounted;
    path.accounted = 0;
  };
  for (const auto& paths : lane_paths_)
    for (const auto& path : paths)
      if (path) add(*path);
  for (const auto* paths :
       {&reduction_paths_, &copy_out_paths_, &copy_in_paths_, &host_memory_paths_})
    for (const auto& [rank, path] : *paths) add(path);
}

Machine::Busiest Machine::busiest() const {
  add_up();
  Busiest busiest;
  for (const auto& [resource, carried] : resources_) {
    const double busy_s = (carried.bytes - carried.at_once) / carried.bandwidth_bytes_per_s;
    if (busy_s > busiest.busy_s)
      busiest = {.name = lanes_.name(resource), .busy_s = busy_s, .bytes = carried.bytes};
  }
  return busiest;
}

}  // namespace forescale
