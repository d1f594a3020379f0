#include "studies/replay/replay_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "sim/ask/inputs.hpp"
#include "sim/ask/load_question.hpp"
#include "sim/predict.hpp"
#include "studies/replay/replay_files.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {

namespace {

// A schedule that is run anew counts its servers by the nodes that it finds.
void check_servers(const Program& program, const Platform& platform, int servers) {
  if (program.schedule.empty()) return;
  const Schedule& schedule = Registry<Schedule>::find(program.schedule, "the program");
  Servers wanted;
  if (schedule.servers != nullptr)
    wanted = schedule.servers(*program.jobs.front(), program.workers);
  if (wanted.each_node) wanted.count = nodes_of(platform, program.workers);
  if (wanted.count != servers)
    throw InputError({.source = "--platform",
                      .path = "",
                      .value = platform.name,
                      .constraint = fmt::format("would need {} servers for schedule {}, where the "
                                                "program has {}: predict it anew, or give a "
                                                "--placement on as many nodes",
                                                wanted.count, schedule.name, servers)});
}

// What is asked for, else what was recorded.
ComputeNoise noise_of(const ReplayText& text, const Program& program) {
  const Question& varied = text.varied;
  if (varied.noise.empty() && varied.stragglers.empty())
    return parse_noise(program.noise, program.stragglers);
  ComputeNoise noise = parse_noise(varied.noise, varied.stragglers);
  for (const auto& [rank, factor] : noise.stragglers)
    if (rank < 0 || rank >= program.workers)
      refuse("--straggler", std::to_string(rank),
             fmt::format("must be a rank below {}", program.workers));
  return noise;
}

}  // namespace

ReplayPlace replay_place(const ReplayText& text, const Program& program, Scenario scenario) {
  const std::string& platform = text.platform.empty() ? program.platform : text.platform;
  if (platform.empty())
    throw InputError({.source = "--platform",
                      .path = "",
                      .value = "",
                      .constraint = "is required: " + text.files.front() + " names none"});
  Question machine = text.varied;
  machine.platform = platform;
  machine.placement =
      text.placement.empty() && text.platform.empty() ? program.placement : text.placement;
  machine.stack = text.stack.empty() ? program.stack : text.stack;
  auto [loaded, stack] = load_machine(machine, scenario);
  ReplayPlace place{.platform = std::move(loaded),
                    .stack = std::move(stack),
                    .data = {},
                    .noise = noise_of(text, program),
                    .message_noise = parse_message_noise(machine.message_noise, "--message-noise")};
  check_ranks(place.platform, {program.workers}, "the program's workers");
  const int servers = static_cast<int>(program.ranks.size()) - program.workers;
  check_servers(program, place.platform, servers);
  place_servers(
      place.platform,
      {.workers = program.workers, .servers = servers, .own_nodes = program.servers_have_nodes},
      "--platform");
  place.platform.uniform_pairs = place.platform.uniform_pairs && servers == 0;
  if (!program.data.empty()) place.data = load_data_source(program.data, scenario);
  return place;
}

std::map<CollectiveOp, PlanChoice> replay_choices(const ReplayText& text, const Program& program) {
  std::map<CollectiveOp, PlanChoice> choices;
  const auto choose = [&](const std::string& plan, const std::string& option) {
    const PlanChoice choice = parse_plan(plan, option);
    choices[choice.collective->op] = choice;
  };
  // Those of a program belong to its stack.
  if (text.stack.empty())
    for (const auto& [op, plan] : program.plans) choose(plan, text.files.front());
  for (const std::string& plan : text.plans) choose(plan, "--plan");
  return choices;
}

namespace {

// The ten busiest.
std::vector<BusyLink> busiest_links(const LinkUse::Curves& curves) {
  std::vector<BusyLink> links;
  for (const LinkUse::Curve& curve : curves.links) {
    if (links.size() == 10) break;
    links.push_back({.name = curve.link,
                     .mean = curve.mean,
                     .peak = *std::max_element(curve.shares.begin(), curve.shares.end())});
  }
  return links;
}

// Mean over the workers.
Overlap overlap_of(const std::vector<Attribution>& attributions, int workers) {
  Overlap overlap;
  for (size_t rank = 0; rank < static_cast<size_t>(workers); ++rank) {
    overlap.communication_s += attributions[rank].communication_s / workers;
    overlap.hidden_s += attributions[rank].hidden_s / workers;
  }
  return overlap;
}

}  // namespace

ReplayRun run_replay(const ReplayPlace& place, const Program& program, const MeasuredRun& measured,
                     const std::map<CollectiveOp, PlanChoice>& choices, const ReplayText* wanted) {
  const bool wants_files = wanted != nullptr && wanted->files_out.any();
  const bool wants_causes = wanted != nullptr && (wanted->causes || wants_files);
  Timeline timeline;
  CauseLog causes;
  LinkUse links;
  std::vector<std::int64_t> images = program.images;
  images.resize(program.ranks.size());  // servers read nothing
  const TrainingOutcome outcome = simulate_program(place.platform, place.stack, program,
                                                   {.workers = program.workers,
                                                    .choices = choices,
                                                    .solver = SharingSolver::kLazy,
                                                    .timeline = wants_files ? &timeline : nullptr,
                                                    .causes = wants_causes ? &causes : nullptr,
                                                    .links = wants_causes ? &links : nullptr,
                                                    .noise = place.noise,
                                                    .message_noise = place.message_noise,
                                                    .data = &place.data,
                                                    .images_per_rank = images,
                                                    .batches = program.iterations});
  const CriticalPath last_path = critical_path(causes, outcome.last_moment, outcome.last_begin_s);
  const CriticalPath path = critical_path(causes, outcome.last_moment, outcome.counted_begin_s);
  const LinkUse::Curves curves =
      links.curves(outcome.last_begin_s, outcome.simulated_s, kUseIntervals);
  if (wants_files)
    write_replay_files({.platform = place.platform,
                        .rank_count = static_cast<int>(program.ranks.size()),
                        .begin_s = outcome.last_begin_s,
                        .timeline = timeline,
                        .path = last_path,
                        .links = curves,
                        .measured = measured},
                       wanted->files_out);
  const Attribution& root = outcome.attributions.front();
  std::map<std::string, double> causes_s;
  for (const auto& [cause, time_s] : path.by_cause_s)
    causes_s[cause] = time_s / static_cast<double>(outcome.counted);
  return {.iteration_s = outcome.iteration_s,
          .counted = static_cast<int>(outcome.counted),
          .is_steady = outcome.is_steady,
          .messages = outcome.messages,
          .bytes_sent = outcome.bytes_sent,
          .busiest = outcome.busiest.name,
          .busiest_share = outcome.finished_s > 0 ? outcome.busiest.busy_s / outcome.finished_s : 0,
          .root_s = by_name(root.phase_s, root.idle_s),
          .overlap = overlap_of(outcome.attributions, program.workers),
          .critical_rank = outcome.last_rank,
          .critical_path_s = std::move(causes_s),
          .links = busiest_links(curves)};
}

}  // namespace forescale
