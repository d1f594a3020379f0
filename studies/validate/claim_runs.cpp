#include "studies/validate/claim_runs.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "studies/layout/layout_prediction.hpp"
#include "studies/validate/formula.hpp"

namespace forescale {
namespace {

// A run that takes longer fails alone: all claims together shall take minutes.
constexpr double kCpuLimit_s = 300;  // of one simulation

std::string calibration_text(const std::optional<Calibration>& calibration) {
  if (!calibration) return "";
  return fmt::format("{} GPUs: {} images/s", calibration->gpus, calibration->images_per_s);
}

}  // namespace

NeededRun NeededRun::of(const RunRequest& request, int ranks, std::int64_t bytes) {
  NeededRun run{.question = request.question, .calibration = request.calibration};
  if (run.question.about == Question::About::kTraining) {
    run.question.gpus = {ranks};
  } else {
    run.question.ranks = {ranks};
    run.question.bytes = {bytes};
  }
  return run;
}

std::string ClaimRuns::key(const NeededRun& run) {
  return fmt::format("{} {} {}", run.scenario.name(), calibration_text(run.calibration),
                     key_of(run.question));
}

// One scale serves all GPU counts.
std::string ClaimRuns::scale_key(const NeededRun& run) {
  NeededRun at_calibration = run;
  at_calibration.question.gpus = {run.calibration->gpus};
  return key(at_calibration);
}

void ClaimRuns::need(const NeededRun& nominal) {
  if (!ranged_.try_emplace(key(nominal)).second) return;
  for (const Scenario& scenario : draws_.scenarios()) {
    NeededRun run = nominal;
    run.scenario = scenario;
    runs_.emplace(key(run), run);
    if (!run.calibration) continue;
    Scale scale{.run = run, .failure = ""};
    scale.run.question.gpus = {run.calibration->gpus};
    scales_.emplace(scale_key(run), std::move(scale));
  }
}

Question ClaimRuns::question_of(const NeededRun& run) const {
  Question question = run.question;
  if (run.calibration) question.compute_scale *= scales_.at(scale_key(run)).value;
  return question;
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
      static_cast<double>(point.images_per_iteration) / scale.run.calibration->images_per_s;
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

std::vector<Answer> ClaimRuns::ask_layouts(const std::vector<NeededRun>& runs) {
  std::vector<LayoutCase> cases;
  for (const NeededRun& run : runs)
    cases.push_back(
        {.question = run.question, .gpus = run.question.gpus.front(), .scenario = run.scenario});
  std::vector<Answer> answers;
  for (const LayoutPrediction& prediction : predict_layouts(cases, asker_, true))
    answers.push_back(as_training(prediction));
  return answers;
}

std::vector<Answer> ClaimRuns::ask(const std::vector<NeededRun>& runs, const std::string& label) {
  std::vector<Question> questions;
  std::vector<Scenario> scenarios;
  for (const NeededRun& run : runs) {
    questions.push_back(question_of(run));
    scenarios.push_back(run.scenario);
  }
  return asker_.ask_each(questions, scenarios,
                         {.label = label, .keep_failures = true, .cpu_limit_s = kCpuLimit_s});
}

void ClaimRuns::calibrate() {
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Scale*> open;
    std::vector<NeededRun> runs;
    for (auto& [name, scale] : scales_) {
      if (scale.done || !scale.failure.empty()) continue;
      open.push_back(&scale);
      runs.push_back(scale.run);
    }
    const std::vector<Answer> answers = ask(runs, fmt::format("calibrating, round {}", round + 1));
    for (size_t i = 0; i < open.size(); ++i) {
      open[i]->failure = answers[i].failure;
      if (answers[i].failure.empty()) improve(*open[i], answers[i].training);
    }
  }
}

void ClaimRuns::run_all(const std::string& label) {
  calibrate();
  std::vector<const std::string*> started;
  std::vector<NeededRun> runs;
  std::vector<const std::string*> laid_out;
  std::vector<NeededRun> layouts;
  for (const auto& [name, run] : runs_) {
    if (!run.question.layout.empty()) {
      laid_out.push_back(&name);
      layouts.push_back(run);
      continue;
    }
    if (run.calibration) {
      const std::string& failure = scales_.at(scale_key(run)).failure;
      answers_[name].failure = failure;
      if (!failure.empty()) continue;
    }
    started.push_back(&name);
    runs.push_back(run);
  }
  const std::vector<Answer> answers = ask(runs, label);
  for (size_t i = 0; i < started.size(); ++i) answers_[*started[i]] = answers[i];
  const std::vector<Answer> of_layouts = ask_layouts(layouts);
  for (size_t i = 0; i < laid_out.size(); ++i) answers_[*laid_out[i]] = of_layouts[i];
  for (const auto& [name, run] : runs_) {
    Answer& answer = answers_.at(name);
    answer.about = run.question.about;
    // What was measured on few GPUs says what compute takes.
    if (run.calibration) answer.compute_ratio = 1;
    NeededRun nominal = run;
    nominal.scenario = {};
    RangedAnswer& ranged = ranged_.at(key(nominal));
    if (run.scenario.is_draw())
      ranged.drawn.push_back(answer);
    else if (run.scenario.end() == Scenario::kNominal)
      ranged.nominal = answer;
    else
      (run.scenario.end() == Scenario::kFast ? ranged.fast : ranged.slow) = answer;
  }
}

const RangedAnswer& ClaimRuns::answer(const NeededRun& run) const {
  const auto found = ranged_.find(key(run));
  FORESCALE_CHECK(found != ranged_.end(), "a run that nobody said was needed");
  return found->second;
}

}  // namespace forescale
