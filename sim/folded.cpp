#include "sim/folded.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/common_options.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "sim/engine/world.hpp"
#include "sim/fabric_use.hpp"
#include "sim/few_nodes.hpp"
#include "sim/isolate.hpp"
#include "sim/limits.hpp"
#include "sim/repeated_chunks.hpp"
#include "sim/repeated_steps.hpp"
#include "sim/ring_call.hpp"
#include "sim/simulated_call.hpp"

namespace forescale {
namespace {

using nlohmann::json;

// Three, so that two messages of one pair never meet, and more, so that all ranks have begun.
constexpr std::array kRingNodesSimulated{6, 8, 10};
constexpr double kExact = 1e-9;
constexpr std::array kTreeNodesSimulated{8, 16, 32};
// Of up to kWholeNodesMax, of many GPUs each, or where many chunks of each part make levels little
// of the time, fewer:
constexpr std::array kFewTreeNodesSimulated{4, 8, 16};
constexpr double kManyChunksAPart = 64;
constexpr double kSaysNothing = 1;  // as an error: more than kMostFoldedError
// With one of them unlike the others, which has as many peers as among all:
constexpr std::array kUnlikeTreeNodesSimulated{8, 12, 16};
// Of so many GPUs each, fewer:
constexpr size_t kWideNode = 32;
constexpr std::array kWideRingNodesSimulated{3, 4, 5};

// What was seen of random calls against all their ranks (tests/reliability/folded_or_whole.py, in
// docs/performance.md): of three points that are not on a line 5.3 %, and 1.03 times what they say;
constexpr double kLeastError = 0.06;
constexpr double kUnsure = 1.5;  // times that
// of three points on a line, where messages slow each other, 1.0 %: who comes first may still
// change among more nodes;
constexpr double kLeastSharedError = 0.015;
// of a few chunks 0.004 %.
constexpr double kRepeatedSharedError = 0.001;
// Of the cost engine, which says no error: blocks that are larger by more are all walked, where a
// second is enough for all messages.
constexpr double kBlocksRounded = 1e-5;
constexpr double kPricedMessagesMax = 1e7;

bool adds(const Collective& collective) { return collective.op != CollectiveOp::kAllGather; }

// NCCL's: two trees of the nodes, in which there are chains or stars.
bool is_tree(const Collective& collective) {
  return collective.algorithm == "chain-tree" || collective.algorithm == "star-tree";
}

size_t members_a_node(const ResolvedCall& resolved) {
  return resolved.group->members_of_node.front().size();
}

bool is_wide(const ResolvedCall& resolved) { return members_a_node(resolved) >= kWideNode; }

double chunks_a_part(const ResolvedCall& resolved) {
  return chunked_messages(resolved) / 2 / static_cast<double>(resolved.rank_count()) /
         static_cast<double>(resolved.parts().size());
}

const std::array<int, 3>& nodes_simulated(const ResolvedCall& resolved) {
  if (is_tree(*resolved.collective))
    return !unlike_nodes(resolved).empty() ? kUnlikeTreeNodesSimulated
           : is_wide(resolved) || resolved.group->shape.nodes <= kWholeNodesMax ||
                   chunks_a_part(resolved) > kManyChunksAPart
               ? kFewTreeNodesSimulated
               : kTreeNodesSimulated;
  return is_wide(resolved) ? kWideRingNodesSimulated : kRingNodesSimulated;
}

bool few_are_as_all(const ResolvedCall& resolved) {
  return std::ranges::all_of(nodes_simulated(resolved), [&resolved](int count) {
    return few_nodes(resolved, count).has_value();
  });
}

int device_of(const ResolvedCall& resolved, const SlotGroup& group, int member) {
  const int slot = group.slots[static_cast<size_t>(member)];
  return resolved.lanes->platform().endpoints[static_cast<size_t>(slot)];
}

// Members of all nodes have the same places in them.
bool nodes_are_alike(const ResolvedCall& resolved, const SlotGroup& group) {
  const Platform& platform = resolved.lanes->platform();
  if (platform.node_device_count == 0) return false;
  const auto place = [&](int member) {
    return device_of(resolved, group, member) % platform.node_device_count;
  };
  const std::vector<int>& first = group.members_of_node.front();
  for (const std::vector<int>& members : group.members_of_node) {
    if (members.size() != first.size()) return false;
    for (size_t i = 0; i < members.size(); ++i)
      if (place(members[i]) != place(first[i])) return false;
  }
  return true;
}

// Groups that call at once are on the same nodes, in the same order, with as many members on each.
bool groups_are_alike(const ResolvedCall& resolved) {
  const Platform& platform = resolved.lanes->platform();
  const auto nodes = [&](const SlotGroup& group) {
    std::vector<std::pair<int, size_t>> found;
    for (const std::vector<int>& members : group.members_of_node) {
      const int device = device_of(resolved, group, members.front());
      found.emplace_back(platform.devices[static_cast<size_t>(device)].node, members.size());
    }
    return found;
  };
  return std::all_of(
      resolved.at_once.begin(), resolved.at_once.end(), [&](const SharedGroup& group) {
        return nodes_are_alike(resolved, *group) && nodes(*group) == nodes(*resolved.group);
      });
}

// Simulated at once, of those for which members that are alike stand.
bool are_few(const ResolvedCall& resolved, FoundAlike& found) {
  const bool are_few_nodes = resolved.group->shape.nodes <= kWholeNodesMax;
  const bool is_a_ring = is_ring(*resolved.collective);
  if (!is_a_ring && (are_few_nodes || !is_tree(*resolved.collective))) return are_few_nodes;
  if (!is_a_ring && resolved.rank_count() > kMaxRanks) return false;
  const double messages = is_a_ring ? ring_messages(resolved) : chunked_messages(resolved);
  if (resolved.rank_count() <= kMaxRanks && messages <= kWholeMessagesMax) return true;
  const auto parts = static_cast<double>(resolved.parts().size());
  if (!are_few_nodes && 2 * messages / parts > kTurnedOperationsMax) return false;
  const std::optional<AlikeMembers>& alike = found.get();
  return alike && alike->is_even && messages <= alike->count() * kWholeMessagesMax;
}

// What rounding its blocks can have added to the time. Relative.
double rounding_of_blocks(const ResolvedCall& resolved, const CollectiveOutcome& outcome) {
  return blocks_rounded(resolved) * outcome.busiest.busy_s / outcome.time_s;
}

std::int64_t ring_bytes(const ResolvedCall& resolved, int nodes) {
  return bytes_of_even_blocks(resolved,
                              nodes * static_cast<std::int64_t>(members_a_node(resolved)));
}

ResolvedCall on_few_nodes(const ResolvedCall& resolved, int count, std::int64_t bytes,
                          const PlanChoice& plan) {
  const auto nodes = few_nodes(resolved, count);
  FORESCALE_CHECK(nodes.has_value(), "a call that can be folded has few nodes like all");
  return on_nodes(resolved, *nodes, bytes, plan);
}

// Three smaller calls, and what they are counted in.
class Smaller {
 public:
  std::vector<ResolvedCall> calls = {};
  std::vector<double> counts = {};  // steps, or levels
  size_t line_from = 0;             // the line goes through this one and the last
  double all = 0;                   // of the whole
  double messages_times = 0;        // messages of the whole over those of the last one
  // What ways that are longer than the shortest add, to each and to the whole.
  std::vector<double> longer_s = {};
  double all_longer_s = 0;
  double unsure_s = 0;  // of that
  // Of steps that take as long on the average, and what comes before them; else levels.
  bool are_steps = false;
  double before_s = 0;

  double of_all(double before, double last) const {
    return last + (last - before) / (counts.back() - counts[line_from]) * (all - counts.back());
  }
  double time_of_all_s(std::vector<double> times_s) const {
    take_longer(times_s);
    const double of_all_s = are_steps && bend_s(times_s) > 0
                                ? before_s + step_s(times_s, counts.size() - 1) * all
                                : of_all(times_s[line_from], times_s.back());
    return of_all_s + all_longer_s;
  }
  std::uint64_t count_of_all(double last) const {
    return static_cast<std::uint64_t>(std::llround(messages_times * last));
  }
  // How far the whole may be from that line, as three points say that are not on one; 0: they are.
  double off_line_s(std::vector<double> times_s) const {
    take_longer(times_s);
    const double bend = bend_s(times_s);
    if (bend == 0) return unsure_s;
    if (!are_steps) return bend * (all - counts.back()) + unsure_s;
    double off_s = 0;
    for (size_t i = 0; i + 1 < counts.size(); ++i)
      off_s = std::max(off_s, std::abs(step_s(times_s, i) - step_s(times_s, counts.size() - 1)));
    return off_s * all + unsure_s;
  }

 private:
  // By how much the second half of the line is steeper; 0: it is one.
  double bend_s(const std::vector<double>& times_s) const {
    const auto rate_s = [&](size_t from) {
      return (times_s[from + 1] - times_s[from]) / (counts[from + 1] - counts[from]);
    };
    const double bend = std::abs(rate_s(1) - rate_s(0));
    return bend <= kExact * counts.back() * std::abs(rate_s(1)) ? 0 : bend;
  }
  double step_s(const std::vector<double>& times_s, size_t at) const {
    return (times_s[at] - before_s) / counts[at];
  }
  void take_longer(std::vector<double>& times_s) const {
    for (size_t i = 0; i < longer_s.size(); ++i) times_s[i] -= longer_s[i];
  }
};

std::optional<CollectiveOutcome> few_chunks_of(const ResolvedCall& resolved) {
  if (!why_chunks_do_not_repeat(resolved).empty()) return std::nullopt;
  return simulate_few_chunks(resolved);
}

Folded fold(const ResolvedCall& resolved, const Smaller& smaller) {
  const PlanChoice plan = plan_of(resolved);
  const RulesOf rules = rules_of(resolved);
  std::vector<std::function<std::string()>> tasks;
  for (const ResolvedCall& call : smaller.calls)
    tasks.emplace_back([&call, &plan, &rules] {
      if (const auto few = few_chunks_of(call)) return to_text(*few).dump();
      FoundAlike alike(call);
      return simulated_text(call, plan, rules, alike).dump();
    });
  load_simgrid();
  std::vector<json> found;
  std::vector<double> times_s;
  for (const std::string& text : run_isolated(tasks, available_cores(), [](size_t) {})) {
    found.push_back(parse_json(text));
    times_s.push_back(found.back().at("time_s").get<double>());
  }
  const json& before = found[smaller.line_from];
  const json& last = found.back();
  Folded folded{.outcome = {}, .ranks = smaller.calls.back().rank_count()};
  folded.outcome.time_s = smaller.time_of_all_s(times_s);
  folded.outcome.messages = smaller.count_of_all(last.at("messages").get<double>());
  folded.outcome.bytes_sent = smaller.messages_times * last.at("bytes_sent").get<double>();
  folded.outcome.busiest = {
      .name = last.at("busiest").get<std::string>(),
      .busy_s = smaller.of_all(before.at("busy_s").get<double>(), last.at("busy_s").get<double>()),
      .bytes = 0};
  for (const auto& [name, last_s] : last.at("root_s").items())
    folded.outcome.root_s[name] =
        smaller.of_all(before.at("root_s").value(name, 0.0), last_s.get<double>());
  folded.error = folded.outcome.time_s > 0 ? smaller.off_line_s(times_s) / folded.outcome.time_s
                                           : kSaysNothing;  // a line that leads below nothing
  for (const json& each : found)
    if (each.at("has_shared").get<bool>()) folded.outcome.has_shared = true;
  return folded;
}

Smaller smaller_rings(const ResolvedCall& resolved, const PlanChoice& plan) {
  Smaller smaller;
  smaller.are_steps = true;
  smaller.before_s = resolved.call_s;
  for (const int nodes : nodes_simulated(resolved)) {
    smaller.calls.push_back(on_few_nodes(resolved, nodes, ring_bytes(resolved, nodes), plan));
    smaller.counts.push_back(ring_steps(
        resolved.collective->op, static_cast<double>(smaller.calls.back().group->slots.size())));
  }
  const auto ranks = static_cast<double>(resolved.group->slots.size());
  smaller.all = ring_steps(resolved.collective->op, ranks);
  // As many a rank and step, and of the same size.
  smaller.messages_times = ranks / static_cast<double>(smaller.calls.back().group->slots.size()) *
                           smaller.all / smaller.counts.back();
  return smaller;
}

// What goes around a ring takes its ways one after the other. Nobody waits for a long one but what
// crosses it, as latency holds no ports.
double longer_tours_s(const FabricUse& use, double least_s) {
  return use.last_s - use.last_ways * least_s;
}

void add_longer_tours(Smaller& smaller, const FabricUse& use) {
  for (const ResolvedCall& few : smaller.calls)
    smaller.longer_s.push_back(longer_tours_s(fabric_use(few), use.least_s));
  smaller.all_longer_s = longer_tours_s(use, use.least_s);
}

// Up the tree and down again, a way a level: between none of them longer than the shortest and all
// as long as the longest.
void add_longer_ways(Smaller& smaller, const FabricUse& use) {
  for (size_t i = 0; i < smaller.calls.size(); ++i)
    smaller.longer_s.push_back(smaller.counts[i] *
                               (fabric_use(smaller.calls[i]).most_s - use.least_s));
  smaller.all_longer_s = smaller.all * (use.most_s - use.least_s);
  smaller.unsure_s = smaller.all_longer_s;
}

bool ways_differ(const FabricUse& use) { return use.most_s > use.least_s * (1 + kExact); }

// Whole elements a part.
std::int64_t even_bytes(const ResolvedCall& resolved) {
  const std::int64_t element =
      resolved.call.element_bytes * static_cast<std::int64_t>(resolved.parts().size());
  return (resolved.call.bytes + element - 1) / element * element;
}

// A doubling of the nodes, begun or whole, is a level more, and as many messages a rank.
Smaller smaller_trees(const ResolvedCall& resolved, const PlanChoice& plan) {
  Smaller smaller;
  const std::int64_t bytes = even_bytes(resolved);
  for (const int nodes : nodes_simulated(resolved)) {
    smaller.calls.push_back(on_few_nodes(resolved, nodes, bytes, plan));
    smaller.counts.push_back(std::log2(nodes));
  }
  // A level costs ever more until there are as many as chunks under way. Where the numbers of nodes
  // are no powers of two, a level is not all there or twice.
  smaller.line_from = unlike_nodes(resolved).empty() ? 1 : 0;
  smaller.all = std::ceil(std::log2(resolved.group->members_of_node.size()));
  smaller.messages_times = static_cast<double>(resolved.group->slots.size()) /
                           static_cast<double>(smaller.calls.back().group->slots.size());
  return smaller;
}

}  // namespace

void to_json(json& text, const Folded& folded) {
  text = {{"outcome", to_text(folded.outcome)},
          {"ranks", folded.ranks},
          {"error", folded.error},
          {"is_large", folded.is_large}};
}

void from_json(const json& text, Folded& folded) {
  folded.outcome = collective_outcome(text.at("outcome"));
  text.at("ranks").get_to(folded.ranks);
  text.at("error").get_to(folded.error);
  text.at("is_large").get_to(folded.is_large);
}

std::string why_not_folded(const ResolvedCall& resolved) {
  if (resolved.call.bytes == 0) return "nothing is sent";
  if (!is_ring(*resolved.collective) && !is_tree(*resolved.collective))
    return fmt::format("{} is neither a ring nor one of NCCL's trees", resolved.collective->name);
  const auto nodes = static_cast<int>(resolved.group->members_of_node.size());
  const bool is_wide_ring = is_wide(resolved) && is_ring(*resolved.collective);
  if (nodes < (is_wide_ring ? kFoldedWideNodesMin : kFoldedNodesMin)) return "there are few nodes";
  if (resolved.through_host) return "buffers are copied through the host";
  if (!nodes_are_alike(resolved, *resolved.group))
    return "the group has not the same GPUs of every node";
  if (!groups_are_alike(resolved)) return "groups in each other's way are not on the same nodes";
  if (!resolved.lanes->platform().lost_links.empty()) return "messages over some links are lost";
  if (unlike_nodes(resolved).size() > kUnlikeNodesMax)
    return "links of several nodes are not as the others'";
  if (!few_are_as_all(resolved))
    return "a link is not as the others, on a node with other peers than any of a few";
  const FabricUse use = fabric_use(resolved);
  if (!use.nodes_share_nothing) return "messages of several nodes share links";
  if (!ways_differ(use)) return "";
  if (resolved.lanes->stack().latency_holds_ports)
    return "latencies between nodes differ, and hold ports";
  if (adds(*resolved.collective) &&
      resolved.lanes->reduction(resolved.place).place != ReductionPlace::kFree)
    return "latencies between nodes differ, and what is added holds up what comes next";
  return "";
}

Folded simulate_folded(const ResolvedCall& resolved) {
  const bool is_a_ring = is_ring(*resolved.collective);
  const PlanChoice plan = plan_of(resolved);
  const FabricUse use = fabric_use(resolved);
  Smaller smaller = is_a_ring ? smaller_rings(resolved, plan) : smaller_trees(resolved, plan);
  if (ways_differ(use)) {
    if (is_a_ring)
      add_longer_tours(smaller, use);
    else
      add_longer_ways(smaller, use);
  }
  Folded folded = fold(resolved, smaller);
  folded.is_large = folded.outcome.messages > kWholeMessagesMax;
  if (folded.error > 0)
    folded.error = std::max(kUnsure * folded.error, kLeastError);
  else if (folded.outcome.has_shared)
    folded.error = kLeastSharedError;
  if (is_a_ring) folded.error += rounding_of_blocks(resolved, folded.outcome);
  return folded;
}

std::optional<CostResult> cost_of_few(const ResolvedCall& resolved) {
  if (resolved.group->shape.nodes <= kWholeNodesMax || !is_ring(*resolved.collective) ||
      !why_not_folded(resolved).empty() || ways_differ(fabric_use(resolved)))
    return std::nullopt;
  const PlanChoice plan = plan_of(resolved);
  const Smaller smaller = smaller_rings(resolved, plan);
  const bool are_few_messages = std::pow(resolved.group->shape.ranks, 2) <= kPricedMessagesMax;
  if (are_few_messages && blocks_rounded(resolved) > kBlocksRounded) return std::nullopt;
  std::vector<CostResult> costs;
  std::vector<double> times_s;
  for (const ResolvedCall& call : smaller.calls) {
    costs.push_back(evaluate_cost(call));
    times_s.push_back(costs.back().time_s);
  }
  if (smaller.off_line_s(times_s) > 0) return std::nullopt;
  const CostResult& last = costs.back();
  return CostResult{.time_s = smaller.of_all(times_s.front(), times_s.back()),
                    .operations = smaller.count_of_all(static_cast<double>(last.operations)),
                    .messages = smaller.count_of_all(static_cast<double>(last.messages)),
                    .bytes_sent = smaller.messages_times * last.bytes_sent,
                    .sizes = last.sizes};
}

CostResult price_call(const ResolvedCall& resolved, double limit_s) {
  if (const auto few = cost_of_few(resolved)) return *few;
  if (const auto few = cost_of_few_chunks(resolved)) return *few;
  return evaluate_cost(resolved, limit_s);
}

std::optional<Folded> fold_where_it_pays(const ResolvedCall& resolved, FoundAlike& alike,
                                         std::string* why_not) {
  if (are_few(resolved, alike) || !why_not_folded(resolved).empty()) return std::nullopt;
  const Folded few = simulate_folded(resolved);
  if (few.error < kLeastError || (few.is_large && few.error <= kMostFoldedError)) return few;
  if (why_not != nullptr)
    *why_not = few.error < kSaysNothing
                   ? fmt::format("a few nodes in place of all would say it within {:.2g} %",
                                 100 * few.error)
                   : "a few nodes in place of all say nothing of it";
  return std::nullopt;
}

std::optional<Folded> repeat_where_it_pays(const ResolvedCall& resolved, FoundAlike& alike) {
  if (const auto few = few_chunks_of(resolved))
    return Folded{.outcome = *few,
                  .ranks = resolved.rank_count(),
                  .error = few->has_shared ? kRepeatedSharedError : 0};
  if (are_few(resolved, alike) || !why_not_repeated(resolved).empty() ||
      ring_messages(resolved) <= kWholeMessagesMax)
    return std::nullopt;
  const std::optional<RepeatedSteps> repeated = simulate_few_steps(resolved);
  if (!repeated) return std::nullopt;
  return Folded{
      .outcome = repeated->outcome, .ranks = resolved.rank_count(), .error = repeated->error};
}

Folded simulate_call(const ResolvedCall& resolved) {
  FoundAlike alike(resolved);
  if (const auto few = fold_where_it_pays(resolved, alike)) return *few;
  if (const auto few = repeat_where_it_pays(resolved, alike)) return *few;
  const json text = simulated_text(resolved, plan_of(resolved), rules_of(resolved), alike);
  return {.outcome = collective_outcome(text),
          .ranks = resolved.rank_count(),
          .error = text.at("error").get<double>()};
}

}  // namespace forescale
