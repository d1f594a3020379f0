#include "studies/validate/claim_runs.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/options_text.hpp"
#include "sim/isolate.hpp"
#include "sim/run/simulate.hpp"
#include "studies/predict/inputs.hpp"
#include "studies/predict/progress.hpp"
#include "studies/validate/formula.hpp"
#include "topologies/placement.hpp"

namespace forescale {
namespace {

using nlohmann::json;

// What makes two runs the same, names aside.
json content(const NeededRun& run) {
  json all = {{"scenario", static_cast<int>(run.scenario)}};
  if (run.request.training) {
    const PredictionText& text = *run.request.training;
    all["training"] = {text.platform,   text.model,      text.system,  text.schedule,
                       text.stack,      text.batch,      text.scaling, text.noise,
                       text.stragglers, text.iterations, text.options};
    if (run.request.calibration)
      all["calibration"] = {run.request.calibration->gpus, run.request.calibration->images_per_s};
  } else {
    const ClaimedCollective& collective = *run.request.collective;
    const std::optional<PlanChoice> plan = collective.plan();
    all["collective"] = {collective.platform, collective.placement, collective.stack, collective.op,
                         plan ? plan_text(*plan) : ""};
  }
  return all;
}

// A run that takes longer fails alone: all claims together shall take minutes.
void limit_own_time() {
  constexpr rlim_t kSeconds = 100;
  const rlimit limit{.rlim_cur = kSeconds, .rlim_max = kSeconds + 1};
  setrlimit(RLIMIT_CPU, &limit);
}

std::string training_text(const NeededRun& run, int gpus, double compute_scale) {
  limit_own_time();
  PredictionText text = *run.request.training;
  text.gpus = std::to_string(gpus);
  text.compute_scale = compute_scale;
  const PredictionInputs inputs = load_inputs(text, run.scenario);
  return json(predict_point(inputs, gpu_counts(text, inputs).front(), nullptr)).dump();
}

std::string collective_text(const NeededRun& run) {
  limit_own_time();
  const ClaimedCollective& request = *run.request.collective;
  Platform platform = load_platform(request.platform, run.scenario);
  if (!request.placement.empty()) place_ranks(platform, request.placement, "--placement");
  const Stack stack = stack_for(platform, request.stack, run.scenario);
  check_ranks(platform, {run.ranks}, "--ranks");
  const CollectiveOp op = parse_collective_op(request.op, "--op");
  SessionOptions session;
  if (const std::optional<PlanChoice> plan = request.plan()) session.choices[op] = *plan;
  const CollectiveOutcome outcome = simulate_collective(
      platform, stack, {.op = op, .bytes = run.bytes, .root = 0, .label = request.op}, run.ranks,
      session);
  return json(outcome.time_s).dump();
}

std::vector<IsolatedAnswer> simulate(const std::vector<std::function<std::string()>>& tasks,
                                     const std::string& what) {
  ProgressLine progress(what, tasks.size());
  return run_isolated_each(tasks, available_cores(),
                           [&](size_t finished) { progress.done(finished); });
}

}  // namespace

std::string ClaimRuns::scale_key(const NeededRun& run) { return content(run).dump(); }

std::string ClaimRuns::key(const NeededRun& run) {
  return fmt::format("{} {} {}", run.ranks, run.bytes, content(run).dump());
}

void ClaimRuns::need(const NeededRun& run) {
  runs_.emplace(key(run), run);
  if (run.request.calibration) scales_.emplace(scale_key(run), Scale{.run = run, .failure = ""});
}

// One step towards the measured iteration time, the difference being charged to compute. Where
// communication hides under compute the first step is not exact.
void ClaimRuns::improve(Scale& scale, const PredictionPoint& point) {
  constexpr double kCloseEnough = 1e-3;
  if (!point.fits) {
    scale.failure = "the calibration's batch does not fit in GPU memory";
    return;
  }
  const double measured_s =
      static_cast<double>(point.images_per_iteration) / scale.run.request.calibration->images_per_s;
  const double missing_s = measured_s - point.iteration_s;
  if (std::abs(missing_s) < kCloseEnough * measured_s) {
    scale.done = true;
    return;
  }
  const double scaled_s = point.root_s.at("forward") + point.root_s.at("backward");
  scale.value *= 1 + missing_s / scaled_s;
  if (scale.value <= 0)
    scale.failure = fmt::format(
        "cannot be calibrated: without compute an iteration already takes {:.4g} s, measured are "
        "{:.4g} s",
        point.iteration_s - scaled_s, measured_s);
}

void ClaimRuns::calibrate() {
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Scale*> open;
    std::vector<std::function<std::string()>> tasks;
    for (auto& [name, scale] : scales_) {
      if (scale.done || !scale.failure.empty()) continue;
      open.push_back(&scale);
      tasks.push_back([&run = scale.run, value = scale.value] {
        return training_text(run, run.request.calibration->gpus, value);
      });
    }
    const auto answers = simulate(tasks, fmt::format("calibrating, round {}", round + 1));
    for (size_t i = 0; i < open.size(); ++i) {
      open[i]->failure = answers[i].failure;
      if (answers[i].failure.empty())
        improve(*open[i], parse_json(answers[i].text).get<PredictionPoint>());
    }
  }
}

void ClaimRuns::run_all() {
  calibrate();
  std::vector<const std::string*> names;
  for (const auto& [name, run] : runs_) names.push_back(&name);
  // The largest take longest: they go first, so that no core waits for them at the end.
  std::stable_sort(names.begin(), names.end(), [&](const auto* a, const auto* b) {
    return runs_.at(*a).ranks > runs_.at(*b).ranks;
  });
  std::vector<const std::string*> started;
  std::vector<std::function<std::string()>> tasks;
  for (const std::string* name : names) {
    const NeededRun& run = runs_.at(*name);
    const auto scale = scales_.find(scale_key(run));
    const double value = scale == scales_.end() ? 1 : scale->second.value;
    if (scale != scales_.end() && !scale->second.failure.empty()) {
      answers_[*name].failure = scale->second.failure;
      continue;
    }
    started.push_back(name);
    if (run.request.training)
      tasks.push_back([&run, value] { return training_text(run, run.ranks, value); });
    else
      tasks.push_back([&run] { return collective_text(run); });
  }
  const auto texts = simulate(tasks, "simulating what the claims need");
  for (size_t i = 0; i < started.size(); ++i) {
    Answer& kept = answers_[*started[i]];
    kept.failure = texts[i].failure;
    if (!kept.failure.empty()) continue;
    const json parsed = parse_json(texts[i].text);
    if (runs_.at(*started[i]).request.training)
      kept.point = parsed.get<PredictionPoint>();
    else
      kept.time_s = parsed.get<double>();
  }
}

const ClaimRuns::Answer& ClaimRuns::answer(const NeededRun& run) const {
  const auto found = answers_.find(key(run));
  FORESCALE_CHECK(found != answers_.end(), "a run that nobody said was needed");
  if (!found->second.failure.empty()) throw Unavailable(found->second.failure);
  return found->second;
}

const PredictionPoint& ClaimRuns::point(const NeededRun& run) const {
  const PredictionPoint& found = answer(run).point;
  if (!found.fits)
    throw OutOfMemory(fmt::format("a batch of {} a GPU does not fit in GPU memory at {} GPUs",
                                  found.batch_per_gpu, run.ranks));
  return found;
}

double ClaimRuns::collective_s(const NeededRun& run) const { return answer(run).time_s; }

double ClaimRuns::compute_scale(const NeededRun& run) const {
  const auto found = scales_.find(scale_key(run));
  return found == scales_.end() ? 1 : found->second.value;
}

std::string command_of(const NeededRun& run) {
  std::string command;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) command += fmt::format(" --{} {}", option, value);
  };
  if (run.request.training) {
    const PredictionText& text = *run.request.training;
    command = "forescale predict";
    add("platform", text.platform);
    add("model", text.model);
    add("system", text.system);
    add("schedule", text.schedule);
    add("stack", text.stack);
    add("batch", text.batch);
    add("scaling", text.scaling);
    add("data", text.data);
    add("placement", text.placement);
    add("noise", text.noise);
    add("straggler", text.stragglers);
    for (const auto& [name, value] : text.options) add("option", fmt::format("{}={}", name, value));
    if (text.iterations > 0) add("iterations", std::to_string(text.iterations));
    add("gpus", std::to_string(run.ranks));
    return command;
  }
  const ClaimedCollective& request = *run.request.collective;
  command = "forescale collective";
  add("platform", request.platform);
  add("stack", request.stack);
  if (const std::optional<PlanChoice> plan = request.plan())
    add("plan", plan_text(*plan));
  else
    add("op", request.op);
  add("ranks", std::to_string(run.ranks));
  add("bytes", std::to_string(run.bytes));
  return command;
}

}  // namespace forescale
