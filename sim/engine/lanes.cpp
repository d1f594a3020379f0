#include "sim/engine/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"

namespace forescale {
namespace {

// Slots below 2^24, protocols below 2^7.
std::uint64_t pair_key(int from_slot, int to_slot, MessageKind kind) {
  return (static_cast<std::uint64_t>(from_slot) << 32) |
         (static_cast<std::uint64_t>(to_slot) << 8) |
         (static_cast<std::uint64_t>(kind.protocol) << 1) |
         (kind.place == BufferPlace::kGpu ? 1U : 0U);
}

constexpr std::uint64_t kMixed = 0x9E3779B97F4A7C15ULL;
constexpr int kKeyBits = 64;
constexpr int kFirstRecentBits = 9;
constexpr int kMostRecentBits = 15;

}  // namespace

Lanes::Lanes(const Platform& platform, const Stack& stack)
    : platform_(platform),
      stack_(stack),
      recent_(std::size_t{1} << kFirstRecentBits),
      recent_shift_(kKeyBits - kFirstRecentBits) {}

MessageKind Lanes::message_kind() const {
  const BufferPlace place = default_place();
  return {place, place == BufferPlace::kGpu ? stack_.message_protocol : 0};
}

BufferPlace Lanes::default_place() const {
  return platform_.has_gpus() ? BufferPlace::kGpu : BufferPlace::kHost;
}

const Lane& Lanes::lane(int from_slot, int to_slot, MessageKind kind, std::int64_t bytes) const {
  const std::uint64_t pair = pair_key(from_slot, to_slot, kind);
  const Found& recent = recent_[(pair * kMixed) >> recent_shift_];
  if (recent.pair == pair && bytes > recent.above_bytes && bytes <= recent.up_to_bytes)
    return *recent.lane;
  const Found found = find(pair, from_slot, to_slot, kind, bytes);
  if (pairs_.size() > recent_.size() && recent_shift_ > kKeyBits - kMostRecentBits) {
    --recent_shift_;
    recent_.assign(2 * recent_.size(), {});
  }
  recent_[(pair * kMixed) >> recent_shift_] = found;
  return *found.lane;
}

Lanes::Found Lanes::find(std::uint64_t pair, int from_slot, int to_slot, MessageKind kind,
                         std::int64_t bytes) const {
  const int from = platform_.endpoints[static_cast<size_t>(from_slot)];
  const int to = platform_.endpoints[static_cast<size_t>(to_slot)];
  auto [entry, fresh] = pairs_.try_emplace(pair);
  if (fresh) entry->second = make_pair(from, to, kind);
  std::int64_t above_bytes = -1;
  for (Pair::Choice& choice : entry->second.choices) {
    if (bytes > choice.up_to_bytes) {
      above_bytes = std::max(above_bytes, choice.up_to_bytes);
      continue;
    }
    if (!choice.lane) choice.lane = make_lane(from, to, *choice.rule);
    return {.pair = pair,
            .above_bytes = above_bytes,
            .up_to_bytes = choice.up_to_bytes,
            .lane = choice.lane.get()};
  }
  // Says which path is missing.
  stack_.path(name_of(platform_.locality(from, to)), kind.place, bytes);
  FORESCALE_CHECK(false, "a pair without a lane has a path");
}

Lanes::Pair Lanes::make_pair(int from, int to, MessageKind kind) const {
  const std::string locality = name_of(platform_.locality(from, to));
  Pair pair;
  for (const PathRule& rule : stack_.paths)
    if (rule.is_for(locality, kind))
      pair.choices.push_back({.up_to_bytes = rule.up_to_bytes, .rule = &rule, .lane = nullptr});
  return pair;
}

void Lanes::add_route(Lane& lane, int from_device, int to_device) const {
  if (from_device == to_device) return;
  const Route route = platform_.route(from_device, to_device);
  for (Capacity capacity : route.capacities) {
    lane.resources.push_back({.kind = ResourceKind::kLink, .index = capacity, .rule = -1});
    if (!lane.lost && platform_.lost_links.contains(capacity / 2)) lane.lost = capacity;
  }
  lane.route_latency_s += route.latency.value;
}

int Lanes::adapter_of(int device) const {
  const int nic = platform_.nic_of(device);
  if (nic < 0)
    throw InputError({.source = "stack " + stack_.name,
                      .path = "/paths",
                      .value = "through_nic",
                      .constraint = "needs a platform whose nodes have a network adapter; " +
                                    platform_.name + " has none"});
  return nic;
}

// Paths of a protocol share its channels: the first of them stands for all.
std::int32_t Lanes::first_with_channel_cap(const PathRule& rule) const {
  const auto first =
      std::find_if(stack_.paths.begin(), stack_.paths.end(), [&](const PathRule& each) {
        return each.channel_cap.value > 0 && each.protocol == rule.protocol &&
               each.buffers == rule.buffers;
      });
  return static_cast<std::int32_t>(first - stack_.paths.begin());
}

std::unique_ptr<Lane> Lanes::make_lane(int from, int to, const PathRule& rule) const {
  auto made = std::make_unique<Lane>();
  Lane& lane = *made;
  lane.id = lane_count_++;
  lane.rule = &rule;
  const auto rule_index = static_cast<std::int32_t>(&rule - stack_.paths.data());
  const int from_host = platform_.host_of(from);
  const int to_host = platform_.host_of(to);
  std::vector<Resource>& resources = lane.resources;
  size_t stage_begin = 0;
  const auto end_stage = [&] {
    Lane::Stage stage;
    stage.resources.assign(resources.begin() + static_cast<long>(stage_begin), resources.end());
    stage.bandwidth_bytes_per_s = narrowest(stage.resources);
    lane.stages.push_back(std::move(stage));
    stage_begin = resources.size();
  };
  const bool from_gpu = platform_.devices[static_cast<size_t>(from)].kind == DeviceKind::kGpu;
  const bool to_gpu = platform_.devices[static_cast<size_t>(to)].kind == DeviceKind::kGpu;
  if (rule.staged) {  // a server's buffers are in host memory already
    if (from_gpu) {
      resources.push_back({ResourceKind::kCopyOut, from, -1});
      add_route(lane, from, from_host);
      resources.push_back({ResourceKind::kMemoryWrite, from_host, -1});
      end_stage();
    }
    if (from_host != to_host) {
      resources.push_back({ResourceKind::kMemoryRead, from_host, -1});
      add_route(lane, from_host, to_host);
      resources.push_back({ResourceKind::kMemoryWrite, to_host, -1});
      if (rule.connection_cap.value > 0)
        resources.push_back({ResourceKind::kConnection, from, rule_index});
      end_stage();
    }
    if (to_gpu) {
      resources.push_back({ResourceKind::kMemoryRead, to_host, -1});
      add_route(lane, to_host, to);
      resources.push_back({ResourceKind::kCopyIn, to, -1});
      end_stage();
    }
  } else {
    const bool host_buffers = rule.buffers == BufferPlace::kHost && platform_.has_gpus();
    if (host_buffers) {  // of ranks that drive GPUs: memory to memory
      resources.push_back({ResourceKind::kMemoryRead, from_host, -1});
      if (rule.through_nic && platform_.locality(from, to) != Locality::kInterNode) {
        const int nic = adapter_of(from);  // down to it and up again
        add_route(lane, from_host, nic);
        add_route(lane, nic, to_host);
      } else {
        add_route(lane, from_host, to_host);
      }
      resources.push_back({ResourceKind::kMemoryWrite, to_host, -1});
    } else {
      const bool has_servers = platform_.has_gpus();
      if (has_servers && !from_gpu) resources.push_back({ResourceKind::kMemoryRead, from_host, -1});
      if (rule.by_rail && from_gpu && to_gpu &&
          platform_.locality(from, to) == Locality::kInterNode) {
        const int relay = platform_.on_rail_of(from, to);
        if (relay != from) lane.route_latency_s += platform_.route(from, relay).latency.value;
        add_route(lane, relay, to);
      } else {
        add_route(lane, from, to);
      }
      if (has_servers && !to_gpu) resources.push_back({ResourceKind::kMemoryWrite, to_host, -1});
    }
    // Ranks of one host share what its software can move out of host memory, and into it.
    if (rule.read_cap.value > 0)
      resources.push_back({ResourceKind::kReadCap, host_buffers ? from_host : from, rule_index});
    if (rule.write_cap.value > 0)
      resources.push_back({ResourceKind::kWriteCap, host_buffers ? to_host : to, rule_index});
    const auto [low, high] =
        std::minmax(host_buffers ? from_host : from, host_buffers ? to_host : to);
    if (rule.duplex_cap.value > 0)
      for (const int end : {low, high})
        resources.push_back({ResourceKind::kDuplexCap, end, rule_index});
    if (rule.pair_cap.value > 0 && low != high)
      resources.push_back(
          {.kind = ResourceKind::kPairCap, .index = low, .rule = rule_index, .other = high});
    if (rule.fabric_cap.value > 0) resources.push_back({ResourceKind::kFabricCap, 0, rule_index});
    if (rule.connection_cap.value > 0) {
      const bool is_of_a_pair = stack_.channels_of == ChannelsOf::kQueue;
      resources.push_back({.kind = ResourceKind::kConnection,
                           .index = from,
                           .rule = rule_index,
                           .other = is_of_a_pair ? to : -1});
    }
    if (rule.channel_cap.value > 0)
      resources.push_back(
          {.kind = ResourceKind::kChannel, .index = from, .rule = first_with_channel_cap(rule)});
  }
  lane.bandwidth_bytes_per_s = narrowest(resources);
  return made;
}

double Lanes::narrowest(const std::vector<Resource>& resources) const {
  double narrowest = std::numeric_limits<double>::infinity();
  for (const Resource& resource : resources) narrowest = std::min(narrowest, bandwidth(resource));
  return narrowest;
}

size_t Lane::slowest_stage() const {
  const auto slowest = std::min_element(stages.begin(), stages.end(),
                                        [](const Lane::Stage& a, const Lane::Stage& b) {
                                          return a.bandwidth_bytes_per_s < b.bandwidth_bytes_per_s;
                                        });
  return static_cast<size_t>(slowest - stages.begin());
}

LaneCost Lanes::cost(const Lane& lane, std::int64_t bytes) const {
  const PathRule& rule = *lane.rule;
  const double latency = lane.route_latency_s + rule.latency.value;
  LaneCost cost{.hold_s = rule.o_send.value + rule.o_proxy.value,
                .o_recv_s = rule.o_recv.value,
                .deliver_s = rule.o_proxy.value,
                .bandwidth_bytes_per_s = lane.bandwidth_bytes_per_s / rule.wire_factor};
  (stack_.latency_holds_ports ? cost.hold_s : cost.deliver_s) += latency;
  if (lane.stages.empty() || bytes == 0) return cost;
  const std::int64_t segment = std::min(rule.segment.value, bytes);
  const std::int64_t segments = (bytes + segment - 1) / segment;
  const double overhead = rule.segment_overhead.value;
  const size_t slowest = lane.slowest_stage();
  cost.hold_s += static_cast<double>(segments) * overhead;
  for (size_t stage = 0; stage < lane.stages.size(); ++stage)
    if (stage != slowest)
      cost.deliver_s +=
          overhead + static_cast<double>(segment) / lane.stages[stage].bandwidth_bytes_per_s;
  return cost;
}

double Lanes::eager_copy_s(std::int64_t bytes) const {
  if (platform_.cpu_models.empty()) return 0;
  return static_cast<double>(bytes) / platform_.cpu_models.front().copy_per_core.value;
}

const ReductionRule& Lanes::reduction(BufferPlace place) const {
  return place == BufferPlace::kGpu ? stack_.reduction : stack_.host_reduction;
}

void Lanes::check_reduction(BufferPlace place) const {
  const auto refuse_place = [&](const char* value, const char* lacks, const char* remedy) {
    throw InputError(
        {.source = "stack " + stack_.name,
         .path = place == BufferPlace::kGpu ? "/reduction/place" : "/host_reduction/place",
         .value = value,
         .constraint = fmt::format("needs a platform that says its {}; {} says none{}", lacks,
                                   platform_.name, remedy)});
  };
  const ReductionPlace where = reduction(place).place;
  if (where == ReductionPlace::kCpu && platform_.cpu_models.empty())
    refuse_place("cpu", "CPUs", " (a generated fabric takes cpu=NAME)");
  if (where == ReductionPlace::kGpu && !platform_.has_gpus()) refuse_place("gpu", "GPUs", "");
}

double Lanes::reduce_s(std::int64_t bytes, BufferPlace place) const {
  const ReductionRule& rule = reduction(place);
  const auto payload = static_cast<double>(bytes);
  switch (rule.place) {
    case ReductionPlace::kFree:
      return 0;
    case ReductionPlace::kFixed:
      return rule.overhead.value + payload / rule.rate.value;
    case ReductionPlace::kGpu: {
      FORESCALE_CHECK(platform_.has_gpus(), "a GPU reduction needs GPUs");
      const GpuModel& gpu = platform_.gpu_models.front();
      // a += b reads two operands and writes one.
      return gpu.kernel_launch.value + gpu.synchronize.value +
             3 * payload / gpu.memory_bandwidth.value;
    }
    case ReductionPlace::kCpu:
      return reduction_flow_bytes(bytes) / std::min(bandwidth({ResourceKind::kCore, 0, -1}),
                                                    bandwidth({ResourceKind::kMemoryRead, 0, -1}));
  }
  return 0;
}

double Lanes::bandwidth(const Resource& resource) const {
  switch (resource.kind) {
    case ResourceKind::kLink:
      return platform_.bandwidth(resource.index).value;
    case ResourceKind::kMemoryRead:
    case ResourceKind::kMemoryWrite:
      return platform_.cpu_models.empty() ? std::numeric_limits<double>::infinity()
                                          : platform_.cpu_models.front().memory_bandwidth.value / 2;
    case ResourceKind::kCopyOut:
    case ResourceKind::kCopyIn:
      return platform_.gpu_models.front().host_copy.value;
    case ResourceKind::kReadCap:
      return stack_.paths[static_cast<size_t>(resource.rule)].read_cap.value;
    case ResourceKind::kWriteCap:
      return stack_.paths[static_cast<size_t>(resource.rule)].write_cap.value;
    case ResourceKind::kDuplexCap:
      return stack_.paths[static_cast<size_t>(resource.rule)].duplex_cap.value;
    case ResourceKind::kPairCap:
      return stack_.paths[static_cast<size_t>(resource.rule)].pair_cap.value;
    case ResourceKind::kFabricCap:
      return stack_.paths[static_cast<size_t>(resource.rule)].fabric_cap.value;
    case ResourceKind::kConnection:
      return stack_.paths[static_cast<size_t>(resource.rule)].connection_cap.value;
    case ResourceKind::kChannel:
      return stack_.paths[static_cast<size_t>(resource.rule)].channel_cap.value;
    case ResourceKind::kCore:
      if (platform_.cpu_models.empty()) return std::numeric_limits<double>::infinity();
      return reduction_flow_bytes(1) * platform_.cpu_models.front().reduce_per_core.value;
  }
  return 0;
}

double Lanes::burst_bytes(const Resource& resource) const {
  if (resource.kind != ResourceKind::kLink) return 0;
  return static_cast<double>(platform_.burst(resource.index).value);
}

std::string Lanes::name(const Resource& resource) const {
  const auto device = [&] { return platform_.devices[static_cast<size_t>(resource.index)].name; };
  switch (resource.kind) {
    case ResourceKind::kLink:
      return platform_.capacity_name(resource.index);
    case ResourceKind::kMemoryRead:
      return device() + " memory reads";
    case ResourceKind::kMemoryWrite:
      return device() + " memory writes";
    case ResourceKind::kCopyOut:
      return device() + " copies to host";
    case ResourceKind::kCopyIn:
      return device() + " copies from host";
    case ResourceKind::kReadCap:
      return fmt::format("{} read cap (rule {})", device(), resource.rule);
    case ResourceKind::kWriteCap:
      return fmt::format("{} write cap (rule {})", device(), resource.rule);
    case ResourceKind::kDuplexCap:
      return fmt::format("{} duplex cap (rule {})", device(), resource.rule);
    case ResourceKind::kPairCap:
      return fmt::format("{} and {} pair cap (rule {})", device(),
                         platform_.devices[static_cast<size_t>(resource.other)].name,
                         resource.rule);
    case ResourceKind::kFabricCap:
      return fmt::format("fabric cap (rule {})", resource.rule);
    case ResourceKind::kConnection:
      return fmt::format("{} connection cap (rule {})", device(), resource.rule);
    case ResourceKind::kChannel:
      return fmt::format("{} channel cap (rule {})", device(), resource.rule);
    case ResourceKind::kCore:
      return device() + " CPU core";
  }
  return "";
}

std::vector<Resource> Lanes::reduction_resources(int slot) const {
  const int device = platform_.endpoints[static_cast<size_t>(slot)];
  return {{ResourceKind::kCore, device, -1},
          {ResourceKind::kMemoryRead, platform_.host_of(device), -1}};
}

std::vector<Resource> Lanes::copy_out(int slot) const {
  const int device = platform_.endpoints[static_cast<size_t>(slot)];
  Lane lane;
  lane.resources.push_back({ResourceKind::kCopyOut, device, -1});
  add_route(lane, device, platform_.host_of(device));
  lane.resources.push_back({ResourceKind::kMemoryWrite, platform_.host_of(device), -1});
  return lane.resources;
}

std::vector<Resource> Lanes::copy_in(int slot) const {
  const int device = platform_.endpoints[static_cast<size_t>(slot)];
  Lane lane;
  lane.resources.push_back({ResourceKind::kMemoryRead, platform_.host_of(device), -1});
  add_route(lane, platform_.host_of(device), device);
  lane.resources.push_back({ResourceKind::kCopyIn, device, -1});
  return lane.resources;
}

std::vector<Resource> Lanes::host_memory(int slot) const {
  const int host = platform_.host_of(platform_.endpoints[static_cast<size_t>(slot)]);
  return {{ResourceKind::kMemoryRead, host, -1}, {ResourceKind::kMemoryWrite, host, -1}};
}

}  // namespace forescale
