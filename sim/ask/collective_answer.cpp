#include "sim/ask/collective_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/common_options.hpp"
#include "algorithms/operation.hpp"
#include "algorithms/plan_choice.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/output_file.hpp"
#include "sim/alike_members.hpp"
#include "sim/ask/inputs.hpp"
#include "sim/ask/rank_split.hpp"
#include "sim/bounds.hpp"
#include "sim/cost_engine.hpp"
#include "sim/folded.hpp"
#include "sim/groups_at_once.hpp"
#include "sim/limits.hpp"
#include "sim/pair_times.hpp"
#include "sim/run/simulate.hpp"
#include "topologies/link_faults.hpp"
#include "topologies/node_routes.hpp"
#include "topologies/placement.hpp"

namespace forescale {
namespace {

using nlohmann::json;

std::optional<double> optional_time(const json& time_s) {
  if (time_s.is_null()) return std::nullopt;
  return time_s.get<double>();
}

void price(const ResolvedCall& resolved, CollectiveAnswer& answer) {
  if (!resolved.why_not_priced().empty()) return;
  const CostResult cost = price_call(resolved);
  answer.time_s = cost.time_s;
  answer.cost_engine_s = cost.time_s;
  answer.messages = cost.messages;
  answer.bytes_sent = cost.bytes_sent;
  if (const auto step = uniform_step(*resolved.lanes, resolved.group->slots, resolved.kind()))
    if (const auto closed = resolved.collective->closed_form(resolved.call, *step))
      answer.closed_form_s = resolved.call_s + *closed;
}

void take(const CollectiveOutcome& outcome, const Stack& stack, CollectiveAnswer& answer) {
  answer.beyond_measured = stack.beyond_measured(outcome.sizes);
  answer.time_s = outcome.time_s;
  answer.simulated_s = outcome.time_s;
  answer.messages = outcome.messages;
  answer.bytes_sent = outcome.bytes_sent;
  answer.root_s = outcome.root_s;
  answer.busiest = outcome.busiest.name;
  answer.busiest_share = outcome.time_s > 0 ? outcome.busiest.busy_s / outcome.time_s : 0;
}

void simulate(const Question& question, const ResolvedCall& resolved,
              const std::optional<PlanChoice>& plan, const std::string& trace,
              CollectiveAnswer& answer) {
  const bool is_plain = trace.empty() && !question.whole && !question.explicit_staging &&
                        question.message_noise.empty();
  const auto take_few = [&](const std::optional<Folded>& few) {
    if (!few) return false;
    take(few->outcome, resolved.lanes->stack(), answer);
    answer.simulated_ranks = few->ranks;
    answer.folded_error = few->error;
    return true;
  };
  FoundAlike found(resolved);
  std::string why_whole = question.whole ? kAskedForWhole : why_not_folded(resolved);
  if (is_plain && take_few(fold_where_it_pays(resolved, found, &why_whole))) return;
  const AlikeMembers* const alike =
      is_plain && found.get() && found.get()->is_even ? &*found.get() : nullptr;
  const int blocks = alike == nullptr ? 1 : alike->turn.blocks;
  const std::int64_t ranks = resolved.rank_count() / blocks;
  const bool has_pairs = resolved.collective->op == CollectiveOp::kAllToAll;  // with all others
  const WholeSimulation all{.option = "--ranks",
                            .ranks = ranks,
                            .rank_bytes = kCollectiveRankBytes,
                            .pair_bytes = has_pairs ? blocks * kCollectivePairBytes : 0,
                            .why = why_whole};
  // Where the cost engine has answered already, that is the answer.
  if (answer.cost_engine_s) answer.not_simulated = why_too_large(all, question.limits);
  if (!answer.not_simulated.empty()) return;
  check_size(all, question.limits);
  if (is_plain && take_few(repeat_where_it_pays(resolved, found))) return;
  Timeline timeline;
  SessionOptions session;
  if (plan) session.choices[resolved.collective->op] = *plan;
  session.explicit_staging = question.explicit_staging;
  session.message_noise = parse_message_noise(question.message_noise, "--message-noise");
  if (!trace.empty()) session.timeline = &timeline;
  session.alike = alike;
  take(simulate_collective(resolved, session), resolved.lanes->stack(), answer);
  answer.simulated_ranks = ranks;
  if (trace.empty()) return;
  int last = 0;
  for (const SharedGroup& group : resolved.all_groups())
    last = std::max(last, *std::max_element(group->slots.begin(), group->slots.end()));
  write_file(
      trace,
      [&](std::ostream& out) {
        write_chrome_trace(timeline, rank_places(resolved.lanes->platform(), last + 1), out);
      },
      "--trace");
}

}  // namespace

void to_json(json& text, const CollectiveAnswer& answer) {
  text = {{"op", answer.op},
          {"algorithm", answer.algorithm},
          {"ranks", answer.ranks},
          {"bytes", answer.bytes},
          {"chunk_bytes", answer.chunk_bytes},
          {"time_s", answer.time_s},
          {"simulated_s", optional_json(answer.simulated_s)},
          {"cost_engine_s", optional_json(answer.cost_engine_s)},
          {"closed_form_s", optional_json(answer.closed_form_s)},
          {"bound_s", answer.bound_s},
          {"bound_reason", answer.bound_reason},
          {"messages", answer.messages},
          {"bytes_sent", answer.bytes_sent}};
  if (answer.groups > 1) {
    text["groups"] = answer.groups;
    text["groups_simulated"] = answer.groups_simulated;
  }
  if (!answer.not_simulated.empty()) text["not_simulated"] = answer.not_simulated;
  if (!answer.beyond_measured.empty()) text["beyond_measured"] = answer.beyond_measured;
  if (!answer.choice_not_known.empty()) text["choice_not_known"] = answer.choice_not_known;
  if (!answer.faults_elsewhere.empty()) text["faults_elsewhere"] = answer.faults_elsewhere;
  if (!answer.simulated_s) return;
  text["simulated_ranks"] = answer.simulated_ranks;
  text["folded_error"] = answer.folded_error;
  text["root_s"] = answer.root_s;
  text["busiest"] = answer.busiest;
  text["busiest_share"] = answer.busiest_share;
}

void from_json(const json& text, CollectiveAnswer& answer) {
  text.at("op").get_to(answer.op);
  text.at("algorithm").get_to(answer.algorithm);
  text.at("ranks").get_to(answer.ranks);
  text.at("bytes").get_to(answer.bytes);
  text.at("chunk_bytes").get_to(answer.chunk_bytes);
  text.at("time_s").get_to(answer.time_s);
  answer.simulated_s = optional_time(text.at("simulated_s"));
  answer.cost_engine_s = optional_time(text.at("cost_engine_s"));
  answer.closed_form_s = optional_time(text.at("closed_form_s"));
  text.at("bound_s").get_to(answer.bound_s);
  text.at("bound_reason").get_to(answer.bound_reason);
  text.at("messages").get_to(answer.messages);
  text.at("bytes_sent").get_to(answer.bytes_sent);
  answer.groups = text.value("groups", std::int64_t{1});
  answer.groups_simulated = text.value("groups_simulated", std::int64_t{1});
  answer.not_simulated = text.value("not_simulated", "");
  answer.beyond_measured = text.value("beyond_measured", "");
  answer.choice_not_known = text.value("choice_not_known", "");
  answer.faults_elsewhere = text.value("faults_elsewhere", "");
  if (!answer.simulated_s) return;
  text.at("simulated_ranks").get_to(answer.simulated_ranks);
  text.at("folded_error").get_to(answer.folded_error);
  text.at("root_s").get_to(answer.root_s);
  text.at("busiest").get_to(answer.busiest);
  text.at("busiest_share").get_to(answer.busiest_share);
}

namespace {

std::vector<std::vector<int>> groups_named(const Question& question, const Platform& platform) {
  const std::string named = question_field("slots").print(question).front();
  if (!question.ranks.empty()) refuse("--slots", named, "is given beside --ranks");
  if (!question.split.empty()) refuse("--slots", named, "is given beside --split");
  std::set<std::int64_t> known;
  std::vector<std::vector<int>> groups;
  for (const std::vector<std::int64_t>& members : question.slots) {
    if (members.size() != question.slots.front().size())
      refuse("--slots", named, "must be groups of one size");
    std::vector<int>& group = groups.emplace_back();
    for (const std::int64_t slot : members) {
      if (slot < 0 || slot >= platform.slot_count() || !known.insert(slot).second)
        refuse("--slots", std::to_string(slot),
               fmt::format("must be from 0 to {}, each once", platform.slot_count() - 1));
      group.push_back(static_cast<int>(slot));
    }
  }
  return groups;
}

// Whether they take more than one algorithm or protocol.
bool chooses(const std::vector<Preference>& bands) {
  return std::any_of(bands.begin(), bands.end(),
                     [](const Preference& band) { return band.order.size() > 1; });
}

}  // namespace

std::vector<std::vector<int>> groups_of(const Question& question, const Platform& platform) {
  if (!question.slots.empty()) return groups_named(question, platform);
  const std::int64_t ranks =
      question.ranks.empty() ? platform.slot_count() : question.ranks.front();
  check_ranks(platform, {ranks}, "--ranks");
  const RankSplit all{.is_modulo = true, .count = 1};
  std::vector<std::vector<int>> groups = groups_of_ranks(
      ranks, question.split.empty() ? all : parse_split(question.split, "--split"), "--split");
  if (groups.size() > 1 && groups.front().size() == 1)
    refuse("--split", question.split, "must leave each group two ranks: one has nobody to talk to");
  return groups;
}

std::string choice_not_known(const QuestionMachine& machine, const std::string& op,
                             const GroupShape& group) {
  const std::size_t of_node = machine.platform.node_routes->endpoints.size();
  const auto bands = machine.stack.preferences.find(op);
  if (!machine.stack.switched_on.empty() && op == "all-reduce" && group.nodes > 1 &&
      static_cast<std::size_t>(group.ranks_per_node) != of_node)
    return fmt::format(
        "{} takes here what it takes without SHARP: only whole nodes are known with it",
        machine.stack.name);
  if (machine.stack.alternatives.empty() || group.nodes < 2 ||
      static_cast<std::size_t>(group.ranks_per_node) == of_node ||
      bands == machine.stack.preferences.end() || !chooses(bands->second) ||
      std::any_of(bands->second.begin(), bands->second.end(), [&](const Preference& band) {
        return band.ranks_per_node != 0 && band.ranks_per_node == group.ranks_per_node;
      }))
    return "";
  return fmt::format(
      "what {} takes {} is not known: its choice here is that for {} ranks on whole nodes",
      machine.stack.name,
      group.ranks_per_node > 0
          ? fmt::format("for {} of a node's {} GPUs", group.ranks_per_node, of_node)
          : "where nodes have different numbers of GPUs",
      group.ranks);
}

std::vector<int> slots_of(const Question& question, const Platform& platform) {
  return groups_of(question, platform).front();
}

CollectiveAnswer answer_collective(const Question& question, const QuestionMachine& machine,
                                   Engines engines, const std::string& trace) {
  const std::vector<std::vector<int>> groups = groups_of(question, machine.platform);
  const std::vector<int>& slots = groups.front();
  if (question.root < 0 || question.root >= static_cast<int>(slots.size()))
    throw InputError({.source = "--root",
                      .path = "",
                      .value = std::to_string(question.root),
                      .constraint = fmt::format("must be a rank: 0 to {} of {} ranks",
                                                slots.size() - 1, slots.size())});
  std::optional<PlanChoice> plan;
  if (question.plan.find('/') != std::string::npos) plan = parse_plan(question.plan, "--plan");
  const CollectiveOp op =
      plan ? plan->collective->op : parse_collective_op(question.plan, "--plan");
  const Lanes lanes(machine.platform, machine.stack);
  ResolvedCall resolved = resolve(lanes, shared_group(machine.platform, slots),
                                  {.op = op,
                                   .bytes = question.bytes.front(),
                                   .root = question.root,
                                   .plan = plan ? &*plan : nullptr});
  std::vector<SharedGroup> others;
  for (size_t other = 1; other < groups.size(); ++other)
    others.push_back(shared_group(machine.platform, groups[other]));
  resolved.at_once = groups_in_the_way(resolved, others);
  // The simulator takes additions that no CPU is known for as free: nobody's answer.
  if (operation(op).sums) lanes.check_reduction(resolved.place);
  const Bound bound = collective_bound(resolved);
  CollectiveAnswer answer{
      .op = name_of(op),
      .algorithm = resolved.collective->algorithm,
      .ranks = static_cast<std::int64_t>(slots.size()),
      .groups = static_cast<std::int64_t>(groups.size()),
      .groups_simulated = 1 + static_cast<std::int64_t>(resolved.at_once.size()),
      .bytes = question.bytes.front(),
      .chunk_bytes = resolved.call.options.number(kChunkBytes),
      .bound_s = bound.time_s,
      .bound_reason = bound.reason};
  std::set<int> nodes;
  for (const std::vector<int>& group : groups)
    for (const int slot : group) nodes.insert(node_of_slot(machine.platform, slot));
  answer.faults_elsewhere = faults_elsewhere(machine.platform, nodes);
  if (!plan) answer.choice_not_known = choice_not_known(machine, answer.op, resolved.group->shape);
  const bool messages_vary = !question.message_noise.empty();
  if (messages_vary && question.explicit_staging)
    refuse("--message-noise", question.message_noise,
           "is on whole messages: leave out --explicit-staging");
  if (messages_vary && engines == Engines::kCostEngine)
    throw InputError({.source = "--message-noise",
                      .path = "",
                      .value = question.message_noise,
                      .constraint = "is the simulator's alone, not the cost engine's"});
  if (engines != Engines::kSimulator && !messages_vary) price(resolved, answer);
  if (engines == Engines::kCostEngine && !answer.cost_engine_s)
    throw InputError(
        {.source = "--engine",
         .path = "",
         .value = "cost",
         .constraint = fmt::format("cannot price {}; use sim", resolved.why_not_priced())});
  if (engines != Engines::kCostEngine) simulate(question, resolved, plan, trace, answer);
  if (!messages_vary)
    enforce(bound, answer.time_s,
            fmt::format("{} on {} ranks", resolved.collective->name, slots.size()));
  return answer;
}

}  // namespace forescale
