#include "algorithms/check/plan_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace forescale {
namespace {

// Elements where everything is whole elements, else bytes.
std::int64_t cell_bytes_of(const CollectiveCall& call) {
  return call.bytes % call.element_bytes == 0 ? call.element_bytes : 1;
}

// Why an operation is malformed; empty if it is not.
std::string malformed(const PlanCase& plan, int rank, const Op& op, std::size_t position) {
  const std::int64_t buffer = buffer_bytes(plan.op, plan.call, rank);
  const auto inside = [buffer](std::int64_t offset, std::int64_t bytes) {
    return offset >= 0 && bytes <= buffer && offset <= buffer - bytes;
  };
  const bool is_copy = op.kind == OpKind::kCopy;
  const bool peer_known =
      is_copy ? op.peer == -1 : op.peer >= 0 && op.peer < plan.call.rank_count && op.peer != rank;
  if (!peer_known) return fmt::format("names rank {} as its peer", op.peer);
  if (op.bytes <= 0) return fmt::format("moves {} bytes", op.bytes);
  if (!inside(op.offset, op.bytes) || (is_copy && !inside(op.copy_from, op.bytes)))
    return fmt::format("leaves the buffer of {} bytes", buffer);
  if (op.offset % plan.cell_bytes != 0 || op.bytes % plan.cell_bytes != 0 ||
      op.copy_from % plan.cell_bytes != 0)
    return fmt::format("splits an element of {} bytes", plan.cell_bytes);
  const auto reach = static_cast<std::int64_t>(position);
  if (op.queue >= kQueuesMax || op.awaits >= kQueuesMax)
    return fmt::format("is in queue {} or awaits queue {}, there are {}", op.queue, op.awaits,
                       kQueuesMax);
  for (const std::int32_t distance : {op.after, op.write_after})
    if (distance < 0 || distance > reach)
      return fmt::format("looks back {} operations, at most {} are there", distance, reach);
  if (op.kind == OpKind::kSend && op.write_after != 0) return "is a send with write_after";
  return "";
}

// Why an operation does not go with the next one as it says; empty if it does.
std::string badly_joined(const std::vector<Op>& ops, std::size_t position) {
  const Op& op = ops[position];
  if (!op.joins_next) return "";
  if (position + 1 == ops.size()) return "joins a next one that is not there";
  const Op& next = ops[position + 1];
  const bool is_one = op.kind != OpKind::kCopy && next.kind == op.kind && next.peer == op.peer &&
                      next.queue == op.queue && next.awaits == op.awaits;
  return is_one ? "" : "joins one of another kind, peer or queue";
}

struct Message {
  std::int64_t bytes = 0;
  bool joins_next = false;
  std::size_t position = 0;
};

// The two ends of one ordered pair of ranks, in one queue.
struct Channel {
  std::vector<Message> sends;
  std::vector<Message> receives;
};

std::string mismatch(int sender, int receiver, const Channel& channel) {
  const std::size_t common = std::min(channel.sends.size(), channel.receives.size());
  for (std::size_t index = 0; index < common; ++index) {
    const Message& out = channel.sends[index];
    const Message& in = channel.receives[index];
    if (out.bytes != in.bytes)
      return fmt::format(
          "rank {} sends {} bytes (operation {}), rank {} receives {} of them (operation {})",
          sender, out.bytes, out.position, receiver, in.bytes, in.position);
    if (out.joins_next != in.joins_next)
      return fmt::format("rank {} and rank {} join other operations ({} and {})", sender, receiver,
                         out.position, in.position);
  }
  if (channel.sends.size() == channel.receives.size()) return "";
  return fmt::format("rank {} sends {} messages to rank {}, which receives {}", sender,
                     channel.sends.size(), receiver, channel.receives.size());
}

}  // namespace

std::string describe(const Op& op, std::size_t position) {
  switch (op.kind) {
    case OpKind::kSend:
      return fmt::format("send {} bytes to rank {} (operation {})", op.bytes, op.peer, position);
    case OpKind::kRecv:
    case OpKind::kRecvReduce:
      return fmt::format("receive {} bytes from rank {} (operation {})", op.bytes, op.peer,
                         position);
    case OpKind::kCopy:
      return fmt::format("copy {} bytes (operation {})", op.bytes, position);
  }
  FORESCALE_CHECK(false, "unknown operation kind");
}

std::vector<std::string> check_operations(const PlanCase& plan) {
  std::vector<std::string> problems;
  for (int rank = 0; rank < plan.call.rank_count; ++rank) {
    const std::vector<Op>& ops = plan.ops[static_cast<std::size_t>(rank)];
    for (std::size_t position = 0; position < ops.size(); ++position) {
      std::string reason = malformed(plan, rank, ops[position], position);
      if (reason.empty()) reason = badly_joined(ops, position);
      if (reason.empty()) continue;
      problems.push_back(fmt::format("rank {}: {} (operation {}) {}", rank,
                                     name_of(ops[position].kind), position, reason));
      break;
    }
  }
  return problems;
}

std::vector<std::string> check_matching(const PlanCase& plan) {
  std::map<std::tuple<int, int, int>, Channel> channels;  // (sender, receiver, queue)
  for (int rank = 0; rank < plan.call.rank_count; ++rank) {
    const std::vector<Op>& ops = plan.ops[static_cast<std::size_t>(rank)];
    for (std::size_t position = 0; position < ops.size(); ++position) {
      const Op& op = ops[position];
      if (op.kind == OpKind::kCopy) continue;
      const Message message = {
          .bytes = op.bytes, .joins_next = op.joins_next, .position = position};
      if (op.kind == OpKind::kSend)
        channels[{rank, op.peer, op.queue}].sends.push_back(message);
      else
        channels[{op.peer, rank, op.queue}].receives.push_back(message);
    }
  }
  std::vector<std::string> problems;
  for (const auto& [ends, channel] : channels)
    if (const std::string problem = mismatch(std::get<0>(ends), std::get<1>(ends), channel);
        !problem.empty())
      problems.push_back(problem);
  return problems;
}

std::vector<std::string> check_plan(const Collective& collective, const CollectiveCall& call) {
  check_call(collective, call);
  FORESCALE_CHECK(call.rank_count <= kCheckedRanksMax, "too many ranks to check");
  PlanCase plan{.op = collective.op, .call = call, .cell_bytes = cell_bytes_of(call), .ops = {}};
  for (int rank = 0; rank < call.rank_count; ++rank) {
    std::vector<Op>& ops = plan.ops.emplace_back();
    for (OpStream stream = collective.plan(call, rank); stream.next();) ops.push_back(stream.op());
    const auto joined =
        std::find_if(ops.begin(), ops.end(), [](const Op& op) { return op.joins_next; });
    if (joined != ops.end() && !collective.joins)
      return {
          fmt::format("rank {} joins operations, which {} does not say", rank, collective.name)};
  }
  std::vector<std::string> problems = check_operations(plan);
  if (!problems.empty()) return problems;
  problems = check_matching(plan);
  for (const auto& check : {check_hazards, check_delivery})
    for (std::string& problem : check(plan)) problems.push_back(std::move(problem));
  return problems;
}

}  // namespace forescale
