#include "sim/folded_ring.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/common_options.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "sim/isolate.hpp"

namespace forescale {
namespace {

using nlohmann::json;

// Three, so that two messages of one pair never meet, and more, so that all ranks have begun.
constexpr std::array kNodesSimulated{6, 8, 10};
constexpr double kExact = 1e-9;
// What steps were seen to differ by, between 10 and 32 nodes of 4 and 8 H100 (tests/sim).
constexpr double kLeastError = 0.03;

bool is_ring(const Collective& collective) {
  return collective.algorithm == "ring" &&
         (collective.op == CollectiveOp::kAllReduce || collective.op == CollectiveOp::kAllGather ||
          collective.op == CollectiveOp::kReduceScatter);
}

size_t members_a_node(const ResolvedCall& resolved) {
  return resolved.group->members_of_node.front().size();
}

double steps_of(const ResolvedCall& resolved, double ranks) {
  return (resolved.collective->op == CollectiveOp::kAllReduce ? 2 : 1) * (ranks - 1);
}

// Members of all nodes have the same places in them.
bool nodes_are_alike(const ResolvedCall& resolved) {
  const Platform& platform = resolved.lanes->platform();
  if (platform.node_device_count == 0) return false;
  const auto place = [&](int member) {
    const int slot = resolved.group->slots[static_cast<size_t>(member)];
    return platform.endpoints[static_cast<size_t>(slot)] % platform.node_device_count;
  };
  const std::vector<int>& first = resolved.group->members_of_node.front();
  for (const std::vector<int>& members : resolved.group->members_of_node) {
    if (members.size() != first.size()) return false;
    for (size_t i = 0; i < members.size(); ++i)
      if (place(members[i]) != place(first[i])) return false;
  }
  return true;
}

// Only the two nodes of a message load it: a link with a switch at both ends belongs to all.
bool is_of_one_node(const Platform& platform, const Resource& resource) {
  if (resource.kind == ResourceKind::kFabricCap) return false;
  if (resource.kind != ResourceKind::kLink) return true;
  const Link& link = platform.links[static_cast<size_t>(resource.index / 2)];
  const auto is_switch = [&](int device) {
    return platform.devices[static_cast<size_t>(device)].kind == DeviceKind::kFabricSwitch;
  };
  return !is_switch(link.from) || !is_switch(link.to);
}

bool nodes_share_nothing(const ResolvedCall& resolved) {
  const Platform& platform = resolved.lanes->platform();
  const size_t each = members_a_node(resolved);
  for (const std::vector<int>& part : resolved.parts())
    for (size_t last = each - 1; last < part.size(); last += each) {
      const auto slot = [&](size_t role) {
        return resolved.group->slots[static_cast<size_t>(part[role % part.size()])];
      };
      const Lane& lane =
          resolved.lanes->lane(slot(last), slot(last + 1), resolved.kind(), resolved.call.bytes);
      for (const Resource& resource : lane.resources)
        if (!is_of_one_node(platform, resource)) return false;
    }
  return true;
}

PlanChoice plan_of(const ResolvedCall& resolved) {
  return {.collective = resolved.collective, .options = resolved.call.options};
}

RulesOf rules_of(const ResolvedCall& resolved) {
  return {.shape = resolved.group->shape, .bytes = resolved.call.bytes};
}

// The same on the first nodes, with blocks of the same size.
ResolvedCall on_nodes(const ResolvedCall& resolved, int nodes, const PlanChoice& plan) {
  const size_t each = members_a_node(resolved);
  std::vector<int> slots;
  for (int node = 0; node < nodes; ++node)
    for (const int member : resolved.group->members_of_node[static_cast<size_t>(node)])
      slots.push_back(resolved.group->slots[static_cast<size_t>(member)]);
  const auto parts = static_cast<double>(resolved.parts().size());
  const auto ranks = static_cast<double>(resolved.group->slots.size());
  const auto element = static_cast<double>(resolved.call.element_bytes);
  const double block =
      std::ceil(static_cast<double>(resolved.call.bytes) / parts / ranks / element) * element;
  return resolve(
      *resolved.lanes, shared_group(resolved.lanes->platform(), slots),
      {.op = resolved.collective->op,
       .bytes = static_cast<std::int64_t>(block * parts * nodes * static_cast<double>(each)),
       .plan = &plan,
       .place = resolved.place,
       .element_bytes = resolved.call.element_bytes});
}

json simulated_on(const ResolvedCall& small, const PlanChoice& plan, const RulesOf& rules) {
  SessionOptions options;
  options.rules_of = rules;
  options.value_bytes = small.call.element_bytes;
  options.choices[small.collective->op] = plan;
  const std::vector<int>& slots = small.group->slots;
  const CollectiveOutcome outcome =
      simulate_collective(small.lanes->platform(), small.lanes->stack(),
                          {.op = small.collective->op,
                           .bytes = small.call.bytes,
                           .label = name_of(small.collective->op),
                           .group = std::make_shared<const std::vector<int>>(slots)},
                          *std::max_element(slots.begin(), slots.end()) + 1, options);
  return {{"time_s", outcome.time_s},         {"messages", outcome.messages},
          {"bytes_sent", outcome.bytes_sent}, {"busiest", outcome.busiest.name},
          {"busy_s", outcome.busiest.busy_s}, {"root_s", outcome.root_s}};
}

}  // namespace

std::string why_not_folded(const ResolvedCall& resolved) {
  if (!is_ring(*resolved.collective))
    return fmt::format("{} is no ring", resolved.collective->name);
  const auto nodes = static_cast<int>(resolved.group->members_of_node.size());
  if (nodes < kNodesSimulated.back()) return "there are few nodes";
  if (resolved.through_host) return "buffers are copied through the host";
  if (!nodes_are_alike(resolved)) return "the group has not the same GPUs of every node";
  if (!nodes_share_nothing(resolved)) return "messages of several nodes share links";
  return "";
}

FoldedRing simulate_folded_ring(const ResolvedCall& resolved) {
  const PlanChoice plan = plan_of(resolved);
  const RulesOf rules = rules_of(resolved);
  FoldedRing folded;
  std::vector<std::function<std::string()>> tasks;
  std::vector<double> steps;
  for (const int nodes : kNodesSimulated) {
    const ResolvedCall small = on_nodes(resolved, nodes, plan);
    folded.ranks = static_cast<std::int64_t>(small.group->slots.size());
    steps.push_back(steps_of(resolved, static_cast<double>(folded.ranks)));
    tasks.emplace_back([small, &plan, &rules] { return simulated_on(small, plan, rules).dump(); });
  }
  std::vector<json> found;
  for (const std::string& text : run_isolated(tasks, 1, [](size_t) {}))
    found.push_back(parse_json(text));
  const auto all_ranks = static_cast<double>(resolved.group->slots.size());
  const double all_steps = steps_of(resolved, all_ranks);
  // Of a number at two counts of nodes.
  const auto a_step = [&](size_t from, size_t to, double first, double second) {
    return (second - first) / (steps[to] - steps[from]);
  };
  const auto time_s = [&](size_t i) { return found[i].at("time_s").get<double>(); };
  const double early_s = a_step(0, 1, time_s(0), time_s(1));
  const double late_s = a_step(1, 2, time_s(1), time_s(2));
  const double difference = std::abs(early_s / late_s - 1);
  folded.error = difference < kExact * steps.back() ? 0 : std::max(difference, kLeastError);
  const json& last = found.back();
  const auto of_all = [&](double first, double third) {
    return third + a_step(0, 2, first, third) * (all_steps - steps[2]);
  };
  folded.outcome.time_s = of_all(time_s(0), time_s(2));
  // As many a rank and step, and of the same size.
  const double times = all_ranks / static_cast<double>(folded.ranks) * all_steps / steps[2];
  folded.outcome.messages =
      static_cast<std::uint64_t>(std::llround(times * last.at("messages").get<double>()));
  folded.outcome.bytes_sent = times * last.at("bytes_sent").get<double>();
  folded.outcome.busiest = {
      .name = last.at("busiest").get<std::string>(),
      .busy_s = of_all(found.front().at("busy_s").get<double>(), last.at("busy_s").get<double>()),
      .bytes = 0};
  for (const auto& [name, third_s] : last.at("root_s").items())
    folded.outcome.root_s[name] =
        of_all(found.front().at("root_s").value(name, 0.0), third_s.get<double>());
  return folded;
}

}  // namespace forescale
