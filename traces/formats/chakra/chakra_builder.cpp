#include "traces/formats/chakra/chakra_builder.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <limits>

#include "algorithms/operation.hpp"
#include "base/error.hpp"
#include "traces/formats/chakra/chakra_groups.hpp"
#include "traces/formats/chakra/chakra_node_type.hpp"
#include "traces/program/action.hpp"

namespace forescale {
namespace {

using ChakraKind = ChakraNode::Kind;

constexpr double kUs_per_second = 1e6;
constexpr double kDuration_s_max = 1e9;

// CollectiveCommType of the schema; those below it are operations.
constexpr std::int64_t kBarrier = 9;

}  // namespace

ChakraBuilder::ChakraBuilder(const std::string& file, double flops_per_s)
    : flops_per_s_(flops_per_s) {
  rank_.file = file;
}

void ChakraBuilder::fail(const std::string& path, const std::string& value,
                         const std::string& constraint) const {
  throw InputError({.source = rank_.file, .path = path, .value = value, .constraint = constraint});
}

void ChakraBuilder::fail_node(const std::string& constraint) const {
  fail(*path_, fmt::format("node {}", fields_->id), constraint);
}

void ChakraBuilder::set_world_size(std::int64_t ranks, const std::string& path) {
  if (ranks < 1 || ranks > kProgramRanksMax)
    fail(path, fmt::format("{} ranks", ranks), fmt::format("must be 1 to {}", kProgramRanksMax));
  rank_.world_size = std::max(rank_.world_size, static_cast<int>(ranks));
}

void ChakraBuilder::add(const ChakraFields& fields, const std::string& path) {
  fields_ = &fields;
  path_ = &path;
  if (rank_.nodes.size() >= std::numeric_limits<std::int32_t>::max())
    fail_node("is one node too many");
  for (const std::string* text : {&fields.name, &fields.pg_name})
    if (!simdjson::validate_utf8(*text)) fail_node("has a name that is not UTF-8");
  ChakraNode node{.id = fields.id, .start_us = fields.start_us, .label = label(fields.name)};
  classify(node);
  rank_.nodes.push_back(node);
  rank_.needs.insert(rank_.needs.end(), fields.data_needs.begin(), fields.data_needs.end());
  if (is_from_pytorch_)
    rank_.gaps.callers += fields.control_needs.size();
  else
    rank_.needs.insert(rank_.needs.end(), fields.control_needs.begin(), fields.control_needs.end());
  rank_.needs_begin.push_back(rank_.needs.size());
}

void ChakraBuilder::classify(ChakraNode& node) {
  switch (fields_->type) {
    case kInvalid:
      return;
    case kMetadata:
      if (fields_->name.find("process_group:init") != std::string::npos) process_groups();
      return;
    case kMemoryLoad:
    case kMemoryStore:
      return copy(node);
    case kCompute:
      if (!fields_->is_cpu_op) ++rank_.gaps.without_device;
      return task(node, ChakraKind::kKernel);
    case kCommSend:
    case kCommReceive:
      return message(node, fields_->type == kCommSend);
    case kCommCollective:
      return collective(node);
    case kStorage:
    case kBatch:
    case kCheckpoint:
      ++rank_.gaps.other_nodes;
      return task(node, ChakraKind::kHostWork);
    default:
      fail_node(fmt::format("has type {}: must be 0 to {}", fields_->type,
                            static_cast<std::int64_t>(kCheckpoint)));
  }
}

void ChakraBuilder::task(ChakraNode& node, ChakraKind on_gpu) {
  node.kind = fields_->is_cpu_op.value_or(false) ? ChakraKind::kHostWork : on_gpu;
  node.place = place(node.kind == ChakraKind::kKernel);
  node.duration_s = duration_s();
  if (node.duration_s == 0) ++rank_.gaps.without_time;
}

double ChakraBuilder::duration_s() const {
  double time_s = static_cast<double>(fields_->duration_us) / kUs_per_second;
  if (const double operations = fields_->num_ops.value_or(0);
      fields_->duration_us == 0 && operations != 0) {
    if (!(operations > 0)) fail_node("has a number of operations below 0");
    if (flops_per_s_ <= 0)
      throw InputError({.source = "--flops-per-s",
                        .path = "",
                        .value = "",
                        .constraint = fmt::format(
                            "is required: {} counts the operations of node {} ({}), and does not "
                            "say how long they took",
                            rank_.file, fields_->id, operations)});
    time_s = operations / flops_per_s_;
  }
  if (!(time_s <= kDuration_s_max))
    fail_node(fmt::format("takes {} s: must be at most {} s", time_s, kDuration_s_max));
  return time_s;
}

void ChakraBuilder::copy(ChakraNode& node) {
  if (!fields_->tensor_size) return task(node, ChakraKind::kKernel);
  node.kind = ChakraKind::kCopy;
  node.bytes = bytes(*fields_->tensor_size);
  node.to_host = fields_->type == kMemoryStore;
  ++rank_.gaps.copies;
}

void ChakraBuilder::message(ChakraNode& node, bool sends) {
  const std::optional<std::int64_t>& peer = sends ? fields_->comm_dst : fields_->comm_src;
  if (!peer || !fields_->comm_size) return left_out(node);
  if (*peer < 0 || *peer >= kProgramRanksMax)
    fail_node(fmt::format("names rank {}: must be 0 to {}", *peer, kProgramRanksMax - 1));
  node.kind = sends ? ChakraKind::kSend : ChakraKind::kReceive;
  node.peer = static_cast<std::int32_t>(*peer);
  node.tag = static_cast<std::uint64_t>(fields_->comm_tag.value_or(0));
  node.bytes = bytes(*fields_->comm_size);
  node.on_host = fields_->is_cpu_op.value_or(false);
}

void ChakraBuilder::collective(ChakraNode& node) {
  if (!fields_->comm_type) return left_out(node);
  const std::int64_t type = *fields_->comm_type;
  if (type < 0 || type > kBarrier)
    fail_node(fmt::format("has comm_type {}: must be 0 to {}", type, kBarrier));
  if (type != kBarrier && !fields_->comm_size) return left_out(node);
  node.kind = ChakraKind::kCollective;
  if (type == kBarrier) {
    ++rank_.gaps.barriers;
  } else {
    node.op = op_called(Tool::kChakra, std::to_string(type)).value();
    node.bytes = bytes(*fields_->comm_size);
  }
  if (has_root(node.op)) ++rank_.gaps.without_root;
  if (fields_->is_partial && fields_->pg_name.empty()) ++rank_.gaps.partial_dimensions;
  node.on_host = fields_->is_cpu_op.value_or(false);
  const auto [group, is_new] =
      group_of_.try_emplace(fields_->pg_name, static_cast<std::int32_t>(rank_.groups.size()));
  if (is_new) rank_.groups.push_back(fields_->pg_name);
  node.group = group->second;
}

// Of PyTorch's calls the CPU's side has a node too, without operation and size.
void ChakraBuilder::left_out(ChakraNode& node) {
  if (fields_->is_cpu_op.value_or(false)) {
    ++rank_.gaps.host_calls;
    return task(node, ChakraKind::kHostWork);
  }
  ++rank_.gaps.left_out;
  rank_.gaps.left_out_s += static_cast<double>(fields_->duration_us) / kUs_per_second;
}

std::int64_t ChakraBuilder::bytes(std::int64_t value) const {
  if (value < 0 || value > kProgramBytesMax)
    fail_node(fmt::format("has {} bytes: must be 0 to {}", value, kProgramBytesMax));
  return value;
}

std::int32_t ChakraBuilder::place(bool on_gpu) {
  const std::optional<std::int64_t>& number =
      on_gpu && fields_->stream ? fields_->stream : fields_->tid;
  if (!number) return -1;
  return place_of_.try_emplace({on_gpu, *number}, static_cast<std::int32_t>(place_of_.size()))
      .first->second;
}

std::int32_t ChakraBuilder::label(const std::string& name) {
  if (const auto known = label_of_.find(name); known != label_of_.end()) return known->second;
  rank_.labels.push_back(name);
  const auto index = static_cast<std::int32_t>(rank_.labels.size() - 1);
  label_of_.emplace(rank_.labels.back(), index);
  return index;
}

void ChakraBuilder::process_groups() {
  for (ChakraGroup& group : parse_chakra_groups(fields_->inputs, rank_.file, *path_)) {
    if (group.world_size > 0) set_world_size(group.world_size, *path_);
    for (const int member : group.ranks) set_world_size(std::int64_t{member} + 1, *path_);
    const auto [known, is_new] = rank_.members.try_emplace(group.name, group.ranks);
    if (!is_new && known->second != group.ranks)
      fail_node(
          fmt::format("gives process group \"{}\" other ranks than a node before", group.name));
  }
}

}  // namespace forescale
