#include "studies/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/error.hpp"
#include "sim/isolate.hpp"
#include "sim/predict.hpp"
#include "studies/inputs.hpp"
#include "studies/progress.hpp"
#include "topologies/placement.hpp"
#include "traces/program.hpp"
#include "traces/timeline.hpp"

namespace forescale {
namespace {

using nlohmann::json;

// What a program runs on.
struct Place {
  Platform platform;
  Stack stack;
  DataSource data;
};

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

std::map<CollectiveOp, AlgorithmChoice> choices_of(const ReplayText& text, const Program& program) {
  std::map<CollectiveOp, AlgorithmChoice> choices;
  const auto choose = [&](const std::string& plan, const std::string& option) {
    const PlanChoice choice = parse_plan(plan, option);
    choices[choice.collective->op] = {.algorithm = choice.collective->algorithm,
                                      .options = choice.options};
  };
  // Those of a program belong to its stack.
  if (text.stack.empty())
    for (const auto& [op, plan] : program.plans) choose(plan, text.files.front());
  for (const std::string& plan : text.plans) choose(plan, "--plan");
  return choices;
}

void scale_compute(Program& program, double scale) {
  if (scale == 1) return;
  std::map<const void*, ActionList> scaled;  // ranks that do the same share their lists
  for (ProgramRank& rank : program.ranks)
    for (ProgramThread& thread : rank.threads) {
      const auto [done, is_new] = scaled.try_emplace(thread.actions.identity(), thread.actions);
      if (is_new) done->second.scale_kernels(scale);
      thread.actions = done->second;
    }
}

void write_trace(const Timeline& timeline, const Place& place, const Program& program,
                 const std::string& file) {
  std::ofstream out(file);
  write_chrome_trace(timeline, rank_places(place.platform, static_cast<int>(program.ranks.size())),
                     out);
  if (!out.flush())
    throw InputError(
        {.source = "--trace", .path = "", .value = file, .constraint = "cannot be written"});
}

json simulate(const Place& place, const Program& program,
              const std::map<CollectiveOp, AlgorithmChoice>& choices, const std::string& trace) {
  Timeline timeline;
  std::vector<std::int64_t> images = program.images;
  images.resize(program.ranks.size());  // servers read nothing
  const TrainingOutcome outcome =
      simulate_program(place.platform, place.stack, program,
                       {.workers = program.workers,
                        .choices = choices,
                        .solver = SharingSolver::kLazy,
                        .timeline = trace.empty() ? nullptr : &timeline,
                        .noise = parse_noise(program.noise, program.stragglers),
                        .data = &place.data,
                        .images_per_rank = images,
                        .batches = program.iterations});
  if (!trace.empty()) {
    timeline.keep_from(outcome.simulated_s - outcome.iteration_s);
    write_trace(timeline, place, program, trace);
  }
  json root;
  for (int phase = 0; phase < kPhaseCount; ++phase)
    root[name_of(static_cast<Phase>(phase))] =
        outcome.attributions.front().phase_s[static_cast<size_t>(phase)];
  root["idle"] = outcome.attributions.front().idle_s;
  return {
      {"iteration_s", outcome.iteration_s},
      {"is_steady", outcome.is_steady},
      {"messages", outcome.messages},
      {"bytes_sent", outcome.bytes_sent},
      {"busiest", outcome.busiest.name},
      {"busiest_share", outcome.finished_s > 0 ? outcome.busiest.busy_s / outcome.finished_s : 0},
      {"root_s", root}};
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
      text.compute_scale == 1)
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
  Program& program = imported.program;
  scale_compute(program, text.compute_scale);
  const auto choices = choices_of(text, program);
  std::vector<Place> places{place_of(text, program, Scenario::kNominal)};
  if (text.range)
    for (const Scenario scenario : {Scenario::kFast, Scenario::kSlow})
      places.push_back(place_of(text, program, scenario));
  std::vector<std::function<std::string()>> tasks;
  for (const Place& place : places)
    tasks.push_back([&, is_nominal = &place == places.data()] {
      return simulate(place, program, choices, is_nominal ? text.trace : "").dump();
    });
  ProgressLine progress("replaying " + program.title, tasks.size());
  std::vector<json> answers;
  for (const std::string& answer :
       run_isolated(tasks, available_cores(), [&](size_t done) { progress.done(done); }))
    answers.push_back(json::parse(answer));
  const json& nominal = answers.front();
  Replay result{.title = program.title,
                .platform = places.front().platform.name,
                .stack = places.front().stack.name,
                .ranks = static_cast<int>(program.ranks.size()),
                .workers = program.workers,
                .iteration = {},
                .images_per_s = 0,
                .root_s = nominal.at("root_s"),
                .is_steady = nominal.at("is_steady"),
                .messages = nominal.at("messages"),
                .bytes_sent = nominal.at("bytes_sent"),
                .busiest = nominal.at("busiest"),
                .busiest_share = nominal.at("busiest_share"),
                .notes = imported.notes};
  for (const std::string& note : notes_of(text, program)) result.notes.push_back(note);
  const double time_s = nominal.at("iteration_s");
  result.iteration = {.time_s = time_s, .low_s = time_s, .high_s = time_s};
  for (const json& answer : answers) {
    result.iteration.low_s = std::min<double>(result.iteration.low_s, answer.at("iteration_s"));
    result.iteration.high_s = std::max<double>(result.iteration.high_s, answer.at("iteration_s"));
  }
  std::int64_t images = 0;
  for (const std::int64_t of_rank : program.images) images += of_rank;
  if (time_s > 0) result.images_per_s = static_cast<double>(images) / time_s;
  return result;
}

json to_json(const Replay& replay) {
  return {{"format", "forescale-replay-1"},
          {"title", replay.title},
          {"platform", replay.platform},
          {"stack", replay.stack},
          {"ranks", replay.ranks},
          {"workers", replay.workers},
          {"iteration_s", replay.iteration.time_s},
          {"iteration_fast_s", replay.iteration.low_s},
          {"iteration_slow_s", replay.iteration.high_s},
          {"images_per_s", replay.images_per_s},
          {"root_s", replay.root_s},
          {"is_steady", replay.is_steady},
          {"messages", replay.messages},
          {"bytes_sent", replay.bytes_sent},
          {"busiest", replay.busiest},
          {"busiest_share", replay.busiest_share},
          {"notes", replay.notes}};
}

}  // namespace forescale
