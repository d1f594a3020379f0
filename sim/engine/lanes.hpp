// How a message travels on this platform with this stack: the numbers and the links of one lane.
//
// A lane is the contention-free truth that both engines share: the cost engine prices it, the
// simulator lets its bytes contend on its links.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/stack.hpp"
#include "topologies/platform.hpp"

namespace forescale {

// A shared capacity of the machine, besides the platform's own links.
enum class ResourceKind : std::uint8_t {
  kLink,         // a platform capacity; index: Capacity
  kMemoryRead,   // half of a host's memory bandwidth; index: device
  kMemoryWrite,  // the other half; index: device
  kCopyOut,      // GPU -> host copy engine; index: device
  kCopyIn,       // host -> GPU copy engine; index: device
  kReadCap,      // a stack's cap on leaving a device; index: device
  kWriteCap,     // a stack's cap on entering a device; index: device
  kDuplexCap,    // a stack's cap on both together; index: device
  kPairCap,      // a stack's cap on both between two devices; index, other: the devices
  kFabricCap,    // a stack's cap on everything under way; index: 0
  kConnection,   // a stack's cap on one message; index: device of the sender; where channels are
                 // a queue's, other: device of the receiver
  kChannel,      // a stack's cap on what a rank sends on a channel; index: device of the sender
  kCore          // the CPU core of a rank that adds and copies; index: device of the rank
};

struct Resource {
  ResourceKind kind = ResourceKind::kLink;
  std::int32_t index = 0;
  std::int32_t rule = -1;    // caps: which path rule of the stack
  std::int32_t channel = 0;  // kConnection: of a rank, or of the two; kChannel: of a rank
  std::int32_t other = -1;   // kPairCap: the device with the greater index; kConnection
  auto operator<=>(const Resource&) const = default;
};

struct LaneCost {
  double hold_s = 0;                 // before the bytes, both ports held; o_proxy included
  double o_recv_s = 0;               // after the bytes, receive port held
  double deliver_s = 0;              // after o_recv, nothing held; o_proxy included
  double bandwidth_bytes_per_s = 0;  // of the message over the narrowest resource, uncontended
};

struct Lane {
  int id = 0;  // dense, in the order of making
  const PathRule* rule = nullptr;
  std::vector<Resource> resources;
  std::optional<Capacity> lost = {};  // the first on the way that nothing comes across
  double route_latency_s = 0;
  double bandwidth_bytes_per_s = 0;
  // Staged: copy out, network (not inside one socket), copy in; parts of `resources`, in order.
  struct Stage {
    std::vector<Resource> resources;
    double bandwidth_bytes_per_s = 0;
  };
  std::vector<Stage> stages;
  // Index of the slowest stage.
  size_t slowest_stage() const;
};

// Lanes between the rank slots of a platform, made when first asked for.
class Lanes {
 public:
  Lanes(const Platform& platform, const Stack& stack);

  // Where a rank's buffers live when nothing else is said: on its GPU if it has one.
  BufferPlace default_place() const;
  MessageKind message_kind() const;  // outside of collectives, from there

  const Lane& lane(int from_slot, int to_slot, MessageKind kind, std::int64_t bytes) const;
  LaneCost cost(const Lane& lane, std::int64_t bytes) const;
  // What a message loads on every link that it crosses: whole bytes.
  static double wire_bytes(const Lane& lane, std::int64_t bytes) {
    return std::ceil(lane.rule->wire_factor * static_cast<double>(bytes));
  }
  bool is_eager(std::int64_t bytes) const { return bytes <= stack_.eager_limit.value; }
  // Time of the copy that an eager message costs at either end.
  double eager_copy_s(std::int64_t bytes) const;

  // Uncontended time to add `bytes` received ones at a rank.
  double reduce_s(std::int64_t bytes, BufferPlace place) const;
  const ReductionRule& reduction(BufferPlace place) const;
  // InputError where the platform has not what the stack adds on.
  void check_reduction(BufferPlace place) const;

  double bandwidth(const Resource& resource) const;
  double burst_bytes(const Resource& resource) const;  // of a shaped link, else 0
  std::string name(const Resource& resource) const;
  // What a CPU reduction of a rank occupies: a flow of reduction_flow_bytes over these.
  std::vector<Resource> reduction_resources(int slot) const;
  static double reduction_flow_bytes(std::int64_t bytes) {
    return 2.0 * static_cast<double>(bytes);  // a += b reads two operands
  }
  // GPU memory <-> host memory copies of a rank, for buffers worked on through the host.
  std::vector<Resource> copy_out(int slot) const;
  std::vector<Resource> copy_in(int slot) const;
  // What work on a rank's host occupies: half of its bytes are read, half written.
  std::vector<Resource> host_memory(int slot) const;

  int lane_count() const { return lane_count_; }
  const Platform& platform() const { return platform_; }
  const Stack& stack() const { return stack_; }

 private:
  // The lanes of one pair of slots and one kind of messages, by the rules that can apply to them.
  struct Pair {
    struct Choice {
      std::int64_t up_to_bytes = 0;
      const PathRule* rule = nullptr;
      std::unique_ptr<Lane> lane;
    };
    std::vector<Choice> choices;
  };
  // A lane, and the messages of its pair that take it: of more than `above_bytes`.
  struct Found {
    std::uint64_t pair = 0;
    std::int64_t above_bytes = 0;
    std::int64_t up_to_bytes = -1;  // none yet
    const Lane* lane = nullptr;
  };
  Found find(std::uint64_t pair, int from_slot, int to_slot, MessageKind kind,
             std::int64_t bytes) const;
  Pair make_pair(int from_device, int to_device, MessageKind kind) const;
  std::unique_ptr<Lane> make_lane(int from_device, int to_device, const PathRule& rule) const;
  int adapter_of(int device) const;  // InputError where there is none
  std::int32_t first_with_channel_cap(const PathRule& rule) const;
  double narrowest(const std::vector<Resource>& resources) const;
  void add_route(Lane& lane, int from_device, int to_device) const;

  const Platform& platform_;
  const Stack& stack_;
  mutable std::unordered_map<std::uint64_t, Pair> pairs_;
  // The last one of all pairs that come to lie there; grows with their number.
  mutable std::vector<Found> recent_;
  mutable int recent_shift_;
  mutable int lane_count_ = 0;
};

// Lanes that are looked at once each: those of very many pairs are let go of in between.
class PassingLanes {
 public:
  explicit PassingLanes(const Lanes& like) : like_(like) {}
  const Lane& lane(int from_slot, int to_slot, MessageKind kind, std::int64_t bytes) {
    constexpr int kKept = 4096;
    if (!few_ || few_->lane_count() >= kKept) few_.emplace(like_.platform(), like_.stack());
    return few_->lane(from_slot, to_slot, kind, bytes);
  }

 private:
  const Lanes& like_;
  std::optional<Lanes> few_ = {};
};

}  // namespace forescale
