#include "calibrate/measure/schedule_request.hpp"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "algorithms/collective.hpp"
#include "algorithms/job_json.hpp"
#include "base/registry.hpp"
#include "models/plan_options.hpp"

namespace forescale {
namespace {

using nlohmann::json;

const SelectionRule kUnlimited;

json rule_to_json(const SelectionRule& rule) {
  json text = {{"algorithm", rule.algorithm}};
  if (rule.up_to_ranks != kUnlimited.up_to_ranks) text["up_to_ranks"] = rule.up_to_ranks;
  if (rule.up_to_bytes != kUnlimited.up_to_bytes) text["up_to_bytes"] = rule.up_to_bytes;
  if (rule.up_to_nodes != kUnlimited.up_to_nodes) text["up_to_nodes"] = rule.up_to_nodes;
  if (rule.ranks_per_node != 0) text["ranks_per_node"] = rule.ranks_per_node;
  for (const auto& [name, value] : rule.options.given())
    std::visit([&, key = name](const auto& given) { text[key] = given; }, value);
  return text;
}

SelectionRule rule_from_json(const JsonInput& in, CollectiveOp op) {
  in.allow_only(with_plan_options(
      {"up_to_ranks", "up_to_nodes", "ranks_per_node", "up_to_bytes", "algorithm"}));
  constexpr int kRanksMax = 1 << 30;
  SelectionRule rule;
  rule.algorithm = in.at("algorithm").string();
  find_collective(op, rule.algorithm, in.file() + in.at("algorithm").path());
  if (const auto ranks = in.find("up_to_ranks"))
    rule.up_to_ranks = static_cast<int>(ranks->integer(1, kRanksMax));
  if (const auto bytes = in.find("up_to_bytes")) rule.up_to_bytes = bytes->integer(0);
  if (const auto nodes = in.find("up_to_nodes"))
    rule.up_to_nodes = static_cast<int>(nodes->integer(1, kRanksMax));
  if (const auto ranks = in.find("ranks_per_node"))
    rule.ranks_per_node = static_cast<int>(ranks->integer(1, kRanksMax));
  rule.options = read_plan_options(in);
  return rule;
}

json rules_to_json(const SelectionRules& choices) {
  json text = json::object();
  for (const auto& [op, rules] : choices) {
    text[op] = json::array();
    for (const SelectionRule& rule : rules) text[op].push_back(rule_to_json(rule));
  }
  return text;
}

// One entry, or a list of them, for each operation.
SelectionRules rules_from_json(const JsonInput& in) {
  SelectionRules choices;
  for (const std::string& name : in.keys()) {
    const CollectiveOp op = parse_collective_op(name, in.file() + in.path());
    const JsonInput entry = in.at(name);
    if (!entry.is_array()) {
      choices[name].push_back(rule_from_json(entry, op));
      continue;
    }
    for (const JsonInput& rule : entry.elements())
      choices[name].push_back(rule_from_json(rule, op));
  }
  return choices;
}

constexpr std::array<Compute, 3> kComputes = {Compute::kSleep, Compute::kSpin, Compute::kGemm};

}  // namespace

const char* name_of(Compute compute) {
  switch (compute) {
    case Compute::kSleep:
      return "sleep";
    case Compute::kSpin:
      return "spin";
    case Compute::kGemm:
      return "gemm";
  }
  return "";
}

json schedule_request_to_json(const ScheduleRequest& request) {
  json jobs = json::array();
  for (const TrainingJob& job : request.jobs) jobs.push_back(job_to_json(job));
  return {{"task", "schedule"},
          {"schedule", request.schedule},
          {"workers", request.workers},
          {"jobs", std::move(jobs)},
          {"nodes", request.nodes},
          {"choices", rules_to_json(request.choices)},
          {"control_choices", rules_to_json(request.control_choices)},
          {"compute", name_of(request.compute)},
          {"progress", request.progress_thread ? "thread" : "inside-calls"},
          {"host_copy_bytes_per_s", request.host_copy_bytes_per_s},
          {"stuck_s", request.stuck_s}};
}

ScheduleRequest schedule_request_from_json(const JsonInput& in) {
  in.allow_only({"format", "task", "wait", "channels", "schedule", "workers", "jobs", "nodes",
                 "choices", "control_choices", "compute", "progress", "host_copy_bytes_per_s",
                 "stuck_s"});
  ScheduleRequest request;
  request.schedule = in.at("schedule").string();
  const Schedule& schedule =
      Registry<Schedule>::find(request.schedule, in.file() + in.at("schedule").path());
  for (const JsonInput& job : in.at("jobs").elements())
    request.jobs.push_back(job_from_json(job, schedule));
  const auto ranks = static_cast<int>(request.jobs.size());
  if (ranks == 0) in.at("jobs").fail("must not be empty");
  for (size_t rank = 1; rank < request.jobs.size(); ++rank)
    if (request.jobs[rank].iterations != request.jobs.front().iterations)
      in.at("jobs").fail("must all have the same number of iterations");
  request.workers = static_cast<int>(in.at("workers").integer(1, ranks));
  for (const JsonInput& node : in.at("nodes").elements())
    request.nodes.push_back(static_cast<int>(node.integer(0, std::numeric_limits<int>::max())));
  if (request.nodes.size() != request.jobs.size())
    in.at("nodes").fail("must have one entry for each job");
  request.choices = rules_from_json(in.at("choices"));
  if (const auto control = in.find("control_choices"))
    request.control_choices = rules_from_json(*control);
  if (const auto compute = in.find("compute")) {
    const std::string name = compute->one_of({"sleep", "spin", "gemm"});
    for (const Compute candidate : kComputes)
      if (name == name_of(candidate)) request.compute = candidate;
  }
  if (const auto progress = in.find("progress"))
    request.progress_thread = progress->one_of({"inside-calls", "thread"}) == "thread";
  if (const auto rate = in.find("host_copy_bytes_per_s"))
    request.host_copy_bytes_per_s = rate->number(0);
  if (const auto stuck = in.find("stuck_s")) request.stuck_s = stuck->number(0.1);
  return request;
}

}  // namespace forescale
