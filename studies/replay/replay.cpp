#include "studies/replay/replay.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "sim/ask/ask.hpp"
#include "sim/ask/inputs.hpp"
#include "sim/ask/isolated.hpp"
#include "sim/ask/spread.hpp"
#include "sim/engine/world.hpp"
#include "studies/replay/replay_calibration.hpp"
#include "studies/replay/replay_compute.hpp"
#include "studies/replay/replay_run.hpp"
#include "topologies/placement.hpp"

namespace forescale {

namespace {

using nlohmann::json;

template <class Is>
bool has(const Program& program, const Is& is) {
  for (const ProgramRank& rank : program.ranks)
    for (const ProgramThread& thread : rank.threads)
      for (const Action& action : thread.actions)
        if (is(action)) return true;
  return false;
}

// Empty where kernels take what they take on the platform's GPU, or it is not known whether they
// do.
std::string as_recorded_note(const ReplayText& text, const Program& program) {
  if (text.platform.empty() || !text.gpu.empty() || text.compute_scale != 1) return "";
  const std::string recorded = recorded_gpu(program);
  const Platform platform = load_platform(text.platform);
  if (recorded.empty() || !platform.has_gpus() || platform.gpu_models.front().name == recorded)
    return "";
  return fmt::format(
      "compute takes what it took on {}, not what it would on {}: --gpu {} scales it by both GPUs' "
      "models",
      recorded, platform.gpu_models.front().name, platform.gpu_models.front().name);
}

bool is_varied(const ReplayText& text) {
  return std::any_of(kReplayVariation.begin(), kReplayVariation.end(), [&](const char* name) {
    return !question_field(name).print(text.varied).empty();
  });
}

// What a program did next can have depended on times that are others here.
std::vector<std::string> notes_of(const ReplayText& text, const Program& program) {
  std::vector<std::string> notes;
  if (text.platform.empty() && text.stack.empty() && text.placement.empty() && text.plans.empty() &&
      text.compute_scale == 1 && text.gpu.empty() && !is_varied(text))
    return notes;
  if (has(program, [](const Action& action) {
        const auto* timer = std::get_if<Timer>(&action.what);
        return timer != nullptr &&
               (timer->what == Timer::For::kTimer || timer->what == Timer::For::kUnexplained);
      }))
    notes.emplace_back(
        "the program waits for timers, whose lengths are those of where it was recorded");
  if (has(program, [](const Action& action) {
        return action.kind == Action::Kind::kTest || action.kind == Action::Kind::kWaitAny;
      }))
    notes.emplace_back(
        "the program looks whether something has come; what it did then is done here too, come or "
        "not: the order is that of where it was recorded");
  return notes;
}

// Whether something other than the place is not as it was traced.
bool is_changed(const ReplayText& text) {
  return is_varied(text) || text.compute_scale != 1 || !text.gpu.empty() || !text.plans.empty() ||
         text.import.ranks > 0 || !text.import.groups.empty() || !text.import.splits.empty() ||
         text.import.bucket_bytes > 0 || text.import.without_stragglers;
}

using Choices = std::map<CollectiveOp, PlanChoice>;
using Keeps = CollectiveCalibration::Keeps;

// One scenario of uncertain numbers: where the program runs, and what it does there.
struct Variant {
  ReplayPlace place;
  Program program;
  std::optional<ReplayPlace> traced = {};  // for all ranks of the traced run
  std::optional<CollectiveCalibration> calibration = {};

  CollectivePlace here(const Choices& choices) const {
    return {place.platform, place.stack, choices};
  }
};

bool is_traced_known(const ReplayText& text) {
  return !text.traced_platform.empty() && !text.traced_is_assumed;
}

// What the one traced rank waited for others is known where the platform of the trace is; the nodes
// of a platform that has its GPU are taken to be like those of the trace.
bool keeps_waits(const ReplayText& text, const MeasuredRun& measured) {
  if (text.calibrate || text.import.without_stragglers || measured.collectives.size() != 1 ||
      measured.world == 1)
    return false;
  if (is_traced_known(text)) return true;
  const std::string& assumed = text.traced_platform.empty() ? text.platform : text.traced_platform;
  if (measured.gpu.empty() || assumed.empty()) return false;
  const Platform platform = load_platform(assumed);
  return platform.has_gpus() && is_gpu_model(measured.gpu, platform.gpu_models.front().name) &&
         platform.endpoints.size() >= static_cast<size_t>(measured.world);
}

void calibrate(Variant& variant, const ReplayText& text, const MeasuredRun& measured,
               Scenario scenario) {
  ReplayText traced = text;
  traced.varied = {};
  if (!text.traced_platform.empty()) {
    traced.platform = text.traced_platform;
    traced.stack = text.traced_stack;
    traced.placement = text.traced_placement;
    traced.plans = text.traced_plans;
  }
  Program traced_ranks;  // a place is asked for by a program: all ranks of the traced run
  traced_ranks.workers = measured.world;
  traced_ranks.ranks.resize(static_cast<size_t>(measured.world));
  variant.traced = replay_place(traced, traced_ranks, scenario);
  const Choices choices = replay_choices(traced, traced_ranks);
  variant.calibration.emplace(
      measured, CollectivePlace{variant.traced->platform, variant.traced->stack, choices},
      is_traced_known(text) ? TracedReach::kAll : TracedReach::kInsideNodes);
}

void check_calibration(const ReplayText& text, const MeasuredRun& measured) {
  if (text.calibrate && text.against_measured)
    throw InputError(
        {.source = "--against-measured",
         .path = "",
         .value = "",
         .constraint = "says why a replay without --calibrate differs: leave one out"});
  if (measured.step_s > 0) return;
  for (const auto& [option, is_given] : {std::pair("--calibrate", text.calibrate),
                                         std::pair("--against-measured", text.against_measured)})
    if (is_given)
      throw InputError({.source = option,
                        .path = text.files.front(),
                        .value = "",
                        .constraint = "needs a trace that holds what an iteration took"});
}

std::string gpu_note(const std::string& gpu, const ScaledTime& scaled) {
  const double all_s =
      scaled.by_models_s + scaled.by_stand_ins_s + scaled.by_roofline_s + scaled.by_memory_s;
  const auto share = [&](double time_s) { return all_s > 0 ? 100 * time_s / all_s : 0; };
  return fmt::format(
      "kernels scaled to {}: {:.0f} % of their time by both GPUs' models of such shapes, {:.0f} % "
      "by "
      "models in which kernels of another precision or kind stand in, {:.0f} % by the peaks of "
      "matrix arithmetic (assumed), {:.0f} % by memory bandwidth (assumed); host work and copies "
      "as "
      "measured",
      gpu, share(scaled.by_models_s), share(scaled.by_stand_ins_s), share(scaled.by_roofline_s),
      share(scaled.by_memory_s));
}

// Kernels keep what they took where they were traced. Empty: the platform has that GPU.
std::string other_gpu_note(const MeasuredRun& measured, const Platform& platform) {
  if (measured.gpu.empty() || !platform.has_gpus()) return "";
  const std::string& here = platform.gpu_models.front().name;
  if (is_gpu_model(measured.gpu, here)) return "";
  return fmt::format(
      "the trace is of \"{}\", the GPUs of {} are {}: kernels keep what they took there, --gpu {} "
      "scales them",
      measured.gpu, platform.name, here, here);
}

// For people: this one, or where its GPUs are others the presets that have the trace's.
std::string traced_platforms(const MeasuredRun& measured, const Platform& platform) {
  std::vector<std::string> names;
  if (!measured.gpu.empty() && !is_gpu_model(measured.gpu, platform.gpu_models.front().name))
    for (const std::string& name : catalogue("topologies/presets")) {
      const Platform preset = load_platform(name);
      if (preset.has_gpus() && is_gpu_model(measured.gpu, preset.gpu_models.front().name))
        names.push_back(name);
    }
  return names.empty() ? platform.name : fmt::format("{}", fmt::join(names, " or "));
}

std::string waits_note(const ReplayText& text, const Variant& variant,
                       const MeasuredRun& measured) {
  const WaitsForOthers& waits = variant.calibration->waits();
  const char* const reach = is_traced_known(text) ? "" : " inside a node";
  if (waits.calls == 0)
    return fmt::format(
        "no collective of the trace{} took more than {:.0f} times what {} says on {}: none is "
        "taken "
        "to have waited for ranks that were not traced",
        reach, kWaitsFrom, variant.traced->stack.name, variant.traced->platform.name);
  return fmt::format(
      "taken to have waited for ranks that were not traced (assumed), which is kept as it was: {} "
      "of {} "
      "collectives{} took more than {:.0f} times what {} says on {}, {:.3g} ms an iteration beyond "
      "it",
      waits.calls, waits.all, reach, kWaitsFrom, variant.traced->stack.name,
      variant.traced->platform.name,
      1e3 * waits.time_s / static_cast<double>(std::max<size_t>(measured.periods_s.size(), 1)));
}

std::string correction_note(const Variant& variant) {
  if (variant.calibration->kinds().empty())
    return "nothing to calibrate: the trace has no collective";
  std::string factors;
  for (const CorrectedCollective& kind : variant.calibration->kinds())
    factors += fmt::format("{}{} x {:.3g} ({} calls)", factors.empty() ? "" : "; ", kind.name,
                           kind.factor(), kind.calls);
  return fmt::format(
      "calibrated: what collectives took in the trace corrects the stack {} on {}: {}",
      variant.traced->stack.name, variant.traced->platform.name, factors);
}

// Why the replay differs from the measurement: every kind of collective in turn takes what it took
// in the trace, then all.
AgainstMeasured against_measured(const ReplayText& text, const Variant& variant,
                                 const MeasuredRun& measured, const Choices& choices, Keeps keeps) {
  constexpr size_t kKindsMax = 12;
  std::vector<CorrectedCollective> kinds = variant.calibration->kinds();
  std::sort(
      kinds.begin(), kinds.end(), [](const CorrectedCollective& a, const CorrectedCollective& b) {
        return std::abs(a.measured_s - a.predicted_s) > std::abs(b.measured_s - b.predicted_s);
      });
  if (kinds.size() > kKindsMax) kinds.resize(kKindsMax);
  const auto corrected = [&](const std::vector<std::string>& some) {
    return variant.calibration->corrected(variant.program, measured, variant.here(choices), keeps,
                                          some);
  };
  std::vector<Program> programs;
  for (const CorrectedCollective& kind : kinds) programs.push_back(corrected({kind.name}));
  programs.push_back(corrected({}));
  ReplayText plain = text;
  plain.causes = false;
  plain.files_out = {};
  std::vector<std::function<ReplayRun()>> tasks;
  for (const Program& program : programs)
    tasks.push_back([&] { return run_replay(variant.place, program, measured, choices, &plain); });
  const std::vector<ReplayRun> runs =
      isolated(tasks, "replaying with the trace's own durations of collectives");
  AgainstMeasured against{.collectives = {}, .with_all_s = runs.back().iteration_s};
  const double parts = static_cast<double>(measured.collectives.size()) *
                       static_cast<double>(std::max<size_t>(measured.periods_s.size(), 1));
  for (size_t i = 0; i < kinds.size(); ++i)
    against.collectives.push_back({.what = kinds[i].name,
                                   .calls = kinds[i].calls / parts,
                                   .measured_s = kinds[i].measured_s / parts,
                                   .predicted_s = kinds[i].predicted_s / parts,
                                   .iteration_s = runs[i].iteration_s});
  return against;
}

// What the model leaves out of a run whose kernels and host take what was measured: what it leaves
// out of collectives, in the share of the iteration that they are waited for.
Unmodelled unmodelled_of_collectives(const ReplayRun& run, int nodes) {
  Answer call{.about = Question::About::kCollective, .nodes = nodes};
  call.collective.busiest_share = run.busiest_share;
  const Unmodelled all = unmodelled(call);
  const double exposed_s = run.overlap.communication_s - run.overlap.hidden_s;
  const double share = run.iteration_s > 0 ? std::clamp(exposed_s / run.iteration_s, 0.0, 1.0) : 0;
  return {.faster = share * all.faster, .slower = share * all.slower};
}

TimeRange range_of(const std::vector<ReplayRun>& runs, size_t ends, const Variant& nominal,
                   bool has_measured_work) {
  std::vector<Answer> answers(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    answers[i].training.iteration_s = runs[i].iteration_s;
    answers[i].nodes =
        nodes_of(nominal.place.platform, static_cast<int>(nominal.program.ranks.size()));
    if (has_measured_work)
      answers[i].unmodelled = unmodelled_of_collectives(runs[i], answers[i].nodes);
  }
  RangedAnswer ranged{.nominal = answers.front()};
  if (ends > 1) {
    ranged.fast = answers[1];
    ranged.slow = answers[2];
  }
  TimeRange range = ranged.time();
  for (size_t i = ends; i < runs.size(); ++i) {
    range.low_s = std::min(range.low_s, runs[i].iteration_s);
    range.high_s = std::max(range.high_s, runs[i].iteration_s);
  }
  return range;
}

}  // namespace

Replay replay(const ReplayText& text) {
  constexpr double kScaleMax = 1e6;
  if (!(text.compute_scale >= 1 / kScaleMax && text.compute_scale <= kScaleMax))
    throw InputError({.source = "--compute-scale",
                      .path = "",
                      .value = fmt::format("{}", text.compute_scale),
                      .constraint = "must be from 1e-6 to 1e6"});
  ImportedTrace imported = import_trace(text.files, text.import);
  load_simgrid();
  const MeasuredRun& measured = imported.measured;
  check_calibration(text, measured);
  const Choices choices = replay_choices(text, imported.program);
  const Draws draws = text.range ? Draws::kEnds : Draws::kNominal;
  const bool with_waits = keeps_waits(text, measured);
  std::vector<Variant> variants;
  std::optional<Program> with_longer;  // collectives as long as they were, waits or not
  ScaledTime scaled;
  for (const Scenario& scenario : draws.scenarios()) {
    Variant& variant = variants.emplace_back(
        Variant{replay_place(text, imported.program, scenario), imported.program});
    if (!text.gpu.empty())
      scaled = move_to_gpu(variant.program, measured, text, scenario);  // of the same times
    split_kernels(variant.program, imported.kernel_split, scenario);
    scale_compute(variant.program, text.compute_scale);
    if (text.calibrate || text.against_measured || with_waits)
      calibrate(variant, text, measured, scenario);
    if (!with_waits) continue;
    const auto kept = [&](Keeps keeps) {
      return variant.calibration->corrected(variant.program, measured, variant.here(choices),
                                            keeps);
    };
    if (text.range && !with_longer) with_longer = kept(Keeps::kLonger);
    variant.program = kept(Keeps::kWaits);
  }
  if (!text.gpu.empty()) imported.notes.push_back(gpu_note(text.gpu, scaled));
  if (std::string note = as_recorded_note(text, imported.program); !note.empty())
    imported.notes.push_back(std::move(note));
  const size_t ends = variants.size();
  std::vector<Program> programs;
  for (const Variant& variant : variants)
    programs.push_back(text.calibrate
                           ? variant.calibration->corrected(variant.program, measured,
                                                            variant.here(choices), Keeps::kFactor)
                           : variant.program);
  // Elsewhere nothing says whether a collective's excess belongs to the network.
  if (text.calibrate && text.range && !text.traced_platform.empty())
    programs.push_back(variants.front().calibration->corrected(
        variants.front().program, measured, variants.front().here(choices), Keeps::kDifference));
  if (with_longer) programs.push_back(std::move(*with_longer));
  std::vector<std::function<ReplayRun()>> tasks;
  for (size_t i = 0; i < programs.size(); ++i)
    tasks.push_back([&, i] {
      const Variant& variant = variants[i < ends ? i : 0];
      return run_replay(variant.place, programs[i], measured, choices, i == 0 ? &text : nullptr);
    });
  const std::vector<ReplayRun> runs = isolated(tasks, "replaying " + imported.program.title);
  const ReplayRun& nominal = runs.front();
  const Program& program = imported.program;
  const ReplayPlace& place = variants.front().place;
  Replay result{
      .title = program.title,
      .platform = place.platform.name,
      .stack = place.stack.name,
      .ranks = static_cast<int>(program.ranks.size()),
      .workers = program.workers,
      .iteration = range_of(runs, ends, variants.front(), measured.step_s > 0 && text.gpu.empty()),
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
      .measured_s = measured.step_s,
      .measured_overlap = {.communication_s = measured.communication_s,
                           .hidden_s = measured.hidden_s},
      .notes = imported.notes};
  if (text.against_measured)
    result.against = against_measured(text, variants.front(), measured, choices,
                                      with_waits ? Keeps::kFactorOfRest : Keeps::kFactor);
  std::stable_sort(result.critical_path.begin(), result.critical_path.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const std::string& note : notes_of(text, program)) result.notes.push_back(note);
  if (text.gpu.empty())
    if (std::string note = other_gpu_note(measured, place.platform); !note.empty())
      result.notes.push_back(std::move(note));
  if (text.calibrate) result.notes.push_back(correction_note(variants.front()));
  if (with_waits) result.notes.push_back(waits_note(text, variants.front(), measured));
  if ((text.calibrate || text.against_measured) && measured.collectives.size() == 1 &&
      measured.world > 1)
    result.notes.emplace_back(
        "one rank was traced: what its collectives took has waiting for the others in it");
  const double error = measured.step_s > 0 ? result.iteration.time_s / measured.step_s - 1 : 0;
  constexpr double kOff = 0.05;
  if (std::abs(error) > kOff && !text.calibrate && !text.against_measured && !is_changed(text))
    result.notes.push_back(fmt::format(
        "the replay is {:+.0f} % off the measurement: if {} is where the trace was made, "
        "--against-measured says why, {}--calibrate makes up for it",
        100 * error, place.platform.name,
        measured.collectives.size() == 1 && measured.world > 1 && !is_traced_known(text)
            ? fmt::format("--traced-platform {} keeps what its rank waited for others, ",
                          traced_platforms(measured, place.platform))
            : ""));
  std::int64_t images = 0;
  for (const std::int64_t of_rank : program.images) images += of_rank;
  if (nominal.iteration_s > 0)
    result.images_per_s = static_cast<double>(images) / nominal.iteration_s;
  return result;
}

std::string left_out_note(const MeasuredRun& measured) {
  if (measured.collectives.size() != 1 || measured.world == 1) return "";
  return "one rank was traced: what its collectives waited for the others is not in the program; a "
         "replay of the trace itself keeps it";
}

json to_json(const AgainstMeasured& against, const Replay& replay) {
  json document{{"difference_s", replay.iteration.time_s - replay.measured_s},
                {"iteration_with_all_s", against.with_all_s},
                {"rest_s", against.with_all_s - replay.measured_s},
                {"collectives", json::array()}};
  for (const ReplayDifference& one : against.collectives)
    document["collectives"].push_back({{"what", one.what},
                                       {"calls", one.calls},
                                       {"measured_s", one.measured_s},
                                       {"predicted_s", one.predicted_s},
                                       {"iteration_s", one.iteration_s}});
  return document;
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
  if (replay.against) document["against_measured"] = to_json(*replay.against, replay);
  return document;
}

}  // namespace forescale
