#include "studies/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "sim/ask/ask.hpp"
#include "sim/ask/inputs.hpp"
#include "sim/ask/isolated.hpp"
#include "sim/predict.hpp"
#include "studies/replay/replay_compute.hpp"
#include "studies/replay/replay_files.hpp"
#include "topologies/placement.hpp"
#include "traces/program/program.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Overlap, communication_s, hidden_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BusyLink, name, mean, peak)

namespace {

using nlohmann::json;

// What one simulation says.
struct Run {
  double iteration_s = 0;
  int counted = 1;
  bool is_steady = true;
  std::uint64_t messages = 0;
  double bytes_sent = 0;
  std::string busiest;
  double busiest_share = 0;
  std::map<std::string, double> root_s;
  Overlap overlap;
  int critical_rank = 0;
  std::map<std::string, double> critical_path_s;
  std::vector<BusyLink> links;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Run, iteration_s, counted, is_steady, messages, bytes_sent,
                                   busiest, busiest_share, root_s, overlap, critical_rank,
                                   critical_path_s, links)

// What a program runs on.
struct Place {
  Platform platform;
  Stack stack;
  DataSource data;
};

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

Place place_of(const ReplayText& text, const Program& program, Scenario scenario) {
  const std::string& platform = text.platform.empty() ? program.platform : text.platform;
  if (platform.empty())
    throw InputError({.source = "--platform",
                      .path = "",
                      .value = "",
                      .constraint = "is required: " + text.files.front() + " names none"});
  Place place{.platform = load_platform(platform, scenario), .stack = {}, .data = {}};
  const std::string& placement =
      text.placement.empty() && text.platform.empty() ? program.placement : text.placement;
  if (!placement.empty()) place_ranks(place.platform, placement, "--placement");
  check_ranks(place.platform, {program.workers}, "the program's workers");
  const int servers = static_cast<int>(program.ranks.size()) - program.workers;
  check_servers(program, place.platform, servers);
  place_servers(
      place.platform,
      {.workers = program.workers, .servers = servers, .own_nodes = program.servers_have_nodes},
      "--platform");
  place.platform.uniform_pairs = place.platform.uniform_pairs && servers == 0;
  place.stack =
      stack_for(place.platform, text.stack.empty() ? program.stack : text.stack, scenario);
  if (!program.data.empty()) place.data = load_data_source(program.data, scenario);
  return place;
}

std::map<CollectiveOp, PlanChoice> choices_of(const ReplayText& text, const Program& program) {
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

// One simulation. With `wanted` what was written down on the way, too.
Run simulate(const Place& place, const Program& program, const MeasuredRun& measured,
             const std::map<CollectiveOp, PlanChoice>& choices, const ReplayText* wanted) {
  const bool wants_files = wanted != nullptr && wanted->files_out.any();
  const bool wants_causes = wanted != nullptr && (wanted->causes || wants_files);
  Timeline timeline;
  CauseLog causes;
  LinkUse links;
  std::vector<std::int64_t> images = program.images;
  images.resize(program.ranks.size());  // servers read nothing
  const TrainingOutcome outcome =
      simulate_program(place.platform, place.stack, program,
                       {.workers = program.workers,
                        .choices = choices,
                        .solver = SharingSolver::kLazy,
                        .timeline = wants_files ? &timeline : nullptr,
                        .causes = wants_causes ? &causes : nullptr,
                        .links = wants_causes ? &links : nullptr,
                        .noise = parse_noise(program.noise, program.stragglers),
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

bool has(const Program& program, std::initializer_list<Action::Kind> kinds) {
  for (const ProgramRank& rank : program.ranks)
    for (const ProgramThread& thread : rank.threads)
      for (const Action& action : thread.actions)
        if (std::find(kinds.begin(), kinds.end(), action.kind) != kinds.end()) return true;
  return false;
}

// What a program did next can have depended on times that are others here.
std::vector<std::string> notes_of(const ReplayText& text, const Program& program) {
  std::vector<std::string> notes;
  if (text.platform.empty() && text.stack.empty() && text.placement.empty() && text.plans.empty() &&
      text.compute_scale == 1 && text.gpu.empty())
    return notes;
  using Kind = Action::Kind;
  if (has(program, {Kind::kTimer}))
    notes.emplace_back(
        "the program waits for timers, whose lengths are those of where it was recorded");
  if (has(program, {Kind::kTest, Kind::kWaitAny}))
    notes.emplace_back(
        "the program looks whether something has come; what it did then is done here too, come or "
        "not: the order is that of where it was recorded");
  return notes;
}

}  // namespace

Replay replay(const ReplayText& text) {
  if (!(text.compute_scale > 0))
    throw InputError({.source = "--compute-scale",
                      .path = "",
                      .value = fmt::format("{}", text.compute_scale),
                      .constraint = "must be above 0"});
  ImportedTrace imported = import_trace(text.files, text.import);
  scale_compute(imported.program, text.compute_scale);
  const auto choices = choices_of(text, imported.program);
  const Draws draws = text.range ? Draws::kEnds : Draws::kNominal;
  std::vector<Place> places;
  std::vector<Program> programs;
  for (const Scenario& scenario : draws.scenarios()) {
    places.push_back(place_of(text, imported.program, scenario));
    programs.push_back(imported.program);
    if (!text.gpu.empty()) move_to_gpu(programs.back(), imported.measured, text, scenario);
  }
  if (!text.gpu.empty())
    imported.notes.push_back(
        fmt::format("kernels scaled to {}: assumed bound by memory, matrix kernels by arithmetic; "
                    "host work and "
                    "copies as measured",
                    text.gpu));
  const Program& program = imported.program;
  std::vector<std::function<Run()>> tasks;
  for (size_t i = 0; i < places.size(); ++i)
    tasks.push_back([&, i] {
      return simulate(places[i], programs[i], imported.measured, choices, i == 0 ? &text : nullptr);
    });
  const std::vector<Run> runs = isolated(tasks, "replaying " + program.title);
  const Run& nominal = runs.front();
  std::vector<Answer> answers(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    answers[i].training.iteration_s = runs[i].iteration_s;
    answers[i].nodes = nodes_of(places.front().platform, static_cast<int>(program.ranks.size()));
  }
  RangedAnswer ranged{.nominal = answers.front()};
  if (text.range) {
    ranged.fast = answers[1];
    ranged.slow = answers[2];
  }
  Replay result{.title = program.title,
                .platform = places.front().platform.name,
                .stack = places.front().stack.name,
                .ranks = static_cast<int>(program.ranks.size()),
                .workers = program.workers,
                .iteration = ranged.time(),
                .iterations = program.iterations,
                .counts_from = program.iterations - nominal.counted,
                .images_per_s = 0,
                .root_s = nominal.root_s,
                .is_steady = nominal.is_steady,
                .messages = nominal.messages,
                .bytes_sent = nominal.bytes_sent,
                .busiest = nominal.busiest,
                .busiest_share = nominal.busiest_share,
                .overlap = nominal.overlap,
                .critical_path = {nominal.critical_path_s.begin(), nominal.critical_path_s.end()},
                .critical_rank = nominal.critical_rank,
                .links = nominal.links,
                .measured_s = imported.measured.step_s,
                .measured_overlap = {.communication_s = imported.measured.communication_s,
                                     .hidden_s = imported.measured.hidden_s},
                .notes = imported.notes};
  std::stable_sort(result.critical_path.begin(), result.critical_path.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const std::string& note : notes_of(text, program)) result.notes.push_back(note);
  std::int64_t images = 0;
  for (const std::int64_t of_rank : program.images) images += of_rank;
  if (nominal.iteration_s > 0)
    result.images_per_s = static_cast<double>(images) / nominal.iteration_s;
  return result;
}

json to_json(const Replay& replay) {
  json document{{"format", "forescale-replay-1"},
                {"title", replay.title},
                {"platform", replay.platform},
                {"stack", replay.stack},
                {"ranks", replay.ranks},
                {"workers", replay.workers},
                {"iteration_s", replay.iteration.time_s},
                {"iteration_fast_s", replay.iteration.low_s},
                {"iteration_slow_s", replay.iteration.high_s},
                {"iterations", replay.iterations},
                {"iterations_from", replay.counts_from},
                {"images_per_s", replay.images_per_s},
                {"root_s", replay.root_s},
                {"is_steady", replay.is_steady},
                {"messages", replay.messages},
                {"bytes_sent", replay.bytes_sent},
                {"busiest", replay.busiest},
                {"busiest_share", replay.busiest_share},
                {"communication_s", replay.overlap.communication_s},
                {"hidden_s", replay.overlap.hidden_s},
                {"notes", replay.notes}};
  if (!replay.critical_path.empty()) {
    document["critical_path"] = {{"rank", replay.critical_rank}, {"by_cause_s", json::object()}};
    for (const auto& [cause, time_s] : replay.critical_path)
      document["critical_path"]["by_cause_s"][cause] = time_s;
  }
  for (const BusyLink& link : replay.links)
    document["links"].push_back({{"link", link.name}, {"mean", link.mean}, {"peak", link.peak}});
  if (replay.measured_s > 0)
    document["measured"] = {{"iteration_s", replay.measured_s},
                            {"communication_s", replay.measured_overlap.communication_s},
                            {"hidden_s", replay.measured_overlap.hidden_s}};
  return document;
}

}  // namespace forescale
