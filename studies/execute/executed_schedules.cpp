#include "studies/execute/executed_schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_input.hpp"
#include "base/json_text.hpp"
#include "base/steady_state.hpp"
#include "calibrate/measure/mpi_launch.hpp"
#include "sim/ask/spread.hpp"

namespace forescale {
namespace {

using nlohmann::json;

// Phases as rank 0 spent them.
IterationTimes times_of(double iteration_s, const PhaseTimes& phases_s) {
  IterationTimes times;
  times.iteration_s = iteration_s;
  times.compute_s = time_of(phases_s, TimeKind::kCompute);
  times.exposed_s = time_of(phases_s, TimeKind::kCommunication);
  times.waiting_s = time_of(phases_s, TimeKind::kWaiting);
  const auto idle = phases_s.find("idle");
  if (idle != phases_s.end()) times.idle_s = idle->second;
  return times;
}

std::vector<ScheduleRow> predict(const std::vector<ScheduleExperiment>& experiments, Draws draws) {
  std::vector<Question> questions;
  for (const ScheduleExperiment& experiment : experiments) questions.push_back(experiment.question);
  Asker asker;
  std::vector<ScheduleRow> rows;
  for (const RangedAnswer& answer :
       asker.ask(questions, {.label = "predicting", .draws = draws, .keep_failures = true})) {
    ScheduleRow row;
    row.schedule = questions[rows.size()].schedule;
    for (const std::string& failure :
         {answer.nominal.failure, answer.fast ? answer.fast->failure : "",
          answer.slow ? answer.slow->failure : ""})
      if (!failure.empty()) row.failure = "no prediction: " + failure;
    row.predicted = iteration_times(answer.nominal.training);
    if (row.failure.empty()) {
      row.iteration = answer.time();
      const Spread exposed = spread_of({&answer}, [](const std::vector<Answer>& answers) {
        return iteration_times(answers.front().training).communication_or_waiting_s();
      });
      row.exposed = {.time_s = exposed.value, .low_s = exposed.low, .high_s = exposed.high};
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// "all" passes over what cannot run here; a schedule that was named must run.
std::vector<ScheduleExperiment> make_experiments(const ScheduleExperimentSettings& settings,
                                                 int hosts, std::vector<std::string>& refused) {
  const bool is_all = std::find(settings.schedules.begin(), settings.schedules.end(), "all") !=
                      settings.schedules.end();
  std::vector<ScheduleExperiment> experiments;
  std::string last;
  for (const std::string& schedule : schedules_of(settings)) {
    try {
      experiments.push_back(make_experiment(settings, schedule, hosts));
    } catch (const InputError& error) {
      if (!is_all) throw;
      last = error.what();
      refused.push_back(fmt::format("{}: {}", schedule, last));
    }
  }
  if (experiments.empty()) throw CheckFailed("no schedule can be executed here: " + last);
  return experiments;
}

void execute(const ScheduleExperiment& experiment, const MpiEngine& engine, ScheduleRow& row,
             std::string& library) {
  try {
    const json answer = engine.run(mpi_request(experiment, engine.nap_s),
                                   static_cast<int>(experiment.run.jobs.size()));
    row.measured = iteration_times(answer, "the MPI program's answer", experiment);
    library = answer.value("library", "");
  } catch (const SimulationStuck& error) {
    row.failure = error.what();
  }
}

double relative(double predicted, double measured) {
  if (predicted == measured) return 0;
  return predicted / measured - 1;
}

json to_json(const IterationTimes& times) {
  return {{"iteration_s", times.iteration_s},
          {"compute_s", times.compute_s},
          {"exposed_communication_s", times.exposed_s},
          {"waiting_s", times.waiting_s},
          {"idle_s", times.idle_s},
          {"payload_bytes", times.payload_bytes},
          {"is_steady", times.is_steady}};
}

json to_json(const TimeRange& range) {
  return {{"time_s", range.time_s}, {"low_s", range.low_s}, {"high_s", range.high_s}};
}

}  // namespace

IterationTimes iteration_times(const PredictionPoint& point) {
  IterationTimes times = times_of(point.iteration_s, point.root_s);
  times.is_steady = point.is_steady;
  times.payload_bytes = point.payload_bytes;
  return times;
}

IterationTimes iteration_times(const json& answer, const std::string& source,
                               const ScheduleExperiment& experiment) {
  const JsonInput in = JsonInput::from_text(answer.dump(), source);
  in.at("format").one_of({"forescale-executed-1"});
  const auto workers = static_cast<size_t>(experiment.run.workers);
  const std::vector<JsonInput> iterations = in.at("iterations").elements();
  if (iterations.size() != static_cast<size_t>(experiment.inputs.iterations))
    in.at("iterations").fail(fmt::format("must be {}", experiment.inputs.iterations));
  std::vector<std::vector<double>> ends_s(workers);
  std::vector<std::int64_t> images;
  for (size_t rank = 0; rank < workers; ++rank) images.push_back(experiment.run.jobs[rank]->batch);
  for (const JsonInput& iteration : iterations) {
    const std::vector<JsonInput> ranks = iteration.at("ranks").elements();
    if (ranks.size() < workers) iteration.at("ranks").fail(fmt::format("must be {}", workers));
    for (size_t rank = 0; rank < workers; ++rank)
      ends_s[rank].push_back(ranks[rank].at("end_s").number(0));
  }
  const SteadyState steady =
      steady_state(ends_s, images, experiment.inputs.schedule->is_asynchronous);
  PhaseTimes phases_s;
  const auto counted = static_cast<double>(iterations.size() - steady.begin);
  for (size_t i = steady.begin; i < iterations.size(); ++i) {
    const JsonInput phases = iterations[i].at("ranks").elements().front().at("phases_s");
    for (const std::string& phase : phases.keys())
      phases_s[phase] += phases.at(phase).number(0) / counted;
  }
  IterationTimes times = times_of(steady.period_s, phases_s);
  times.is_steady = steady.is_steady;
  times.payload_bytes = in.at("payload_bytes").number(0) / static_cast<double>(iterations.size());
  return times;
}

MpiEngine launching_engine(std::function<std::vector<std::string>(int ranks)> command,
                           double timeout_s) {
  MpiEngine engine;
  engine.run = [command = std::move(command), timeout_s](const json& request, int ranks) {
    const MpiOutcome outcome = run_mpi(command(ranks), request.dump(), {}, timeout_s);
    if (!outcome.failure.empty()) throw SimulationStuck(outcome.failure);
    return parse_json(outcome.answer);
  };
  return engine;
}

double ScheduleRow::iteration_error() const {
  return relative(predicted.iteration_s, measured.iteration_s);
}

double ScheduleRow::exposed_error() const {
  return relative(predicted.communication_or_waiting_s(), measured.communication_or_waiting_s());
}

double ScheduleRow::communication_share() const {
  if (measured.iteration_s <= 0) return 0;
  return measured.communication_or_waiting_s() / measured.iteration_s;
}

OrderCheck check_order(const std::vector<ScheduleRow>& rows) {
  OrderCheck check;
  for (const ScheduleRow& fast : rows) {
    for (const ScheduleRow& slow : rows) {
      if (!fast.failure.empty() || !slow.failure.empty()) continue;
      if (slow.measured.iteration_s <= (1 + kDistinguishable) * fast.measured.iteration_s) continue;
      ++check.pairs;
      if (fast.predicted.iteration_s < slow.predicted.iteration_s) continue;
      check.wrong.push_back(fmt::format(
          "{} is {:.1f} % slower than {}, but predicted {:.1f} % faster", slow.schedule,
          100 * (slow.measured.iteration_s / fast.measured.iteration_s - 1), fast.schedule,
          100 * (fast.predicted.iteration_s / slow.predicted.iteration_s - 1)));
    }
  }
  return check;
}

ScheduleComparison compare_schedules(const ScheduleExperimentSettings& settings,
                                     const MpiEngine& engine,
                                     const std::function<void(const std::string&)>& on_progress) {
  ScheduleComparison comparison;
  comparison.bytes_scale = settings.question.bytes_scale;
  comparison.compute_scale = settings.question.compute_scale;
  const std::vector<ScheduleExperiment> experiments =
      make_experiments(settings, engine.hosts, comparison.refused);
  const PredictionInputs& inputs = experiments.front().inputs;
  comparison.title = fmt::format(
      "{} on {} x {} ({}), stack {}, batch {} {}", inputs.network.name, settings.workers,
      inputs.platform.name, inputs.platform.gpu_models.front().name, inputs.stack.name,
      inputs.batch, inputs.scaling == Scaling::kStrong ? "in all" : "a GPU");
  on_progress(fmt::format("predicting {} schedules", experiments.size()));
  comparison.rows = predict(experiments, settings.draws);
  for (size_t i = 0; i < experiments.size(); ++i) {
    if (!comparison.rows[i].failure.empty()) continue;
    on_progress(fmt::format("executing {} ({} of {}): {} iterations of {} predicted",
                            experiments[i].question.schedule, i + 1, experiments.size(),
                            experiments[i].inputs.iterations,
                            to_text(Seconds{comparison.rows[i].predicted.iteration_s})));
    execute(experiments[i], engine, comparison.rows[i], comparison.library);
  }
  if (std::all_of(comparison.rows.begin(), comparison.rows.end(),
                  [](const ScheduleRow& row) { return !row.failure.empty(); }))
    throw CheckFailed("no schedule was executed: " + comparison.rows.front().failure);
  comparison.order = check_order(comparison.rows);
  return comparison;
}

json to_json(const ScheduleComparison& comparison) {
  json rows = json::array();
  for (const ScheduleRow& row : comparison.rows) {
    json entry = {{"schedule", row.schedule},
                  {"predicted", to_json(row.predicted)},
                  {"predicted_iteration", to_json(row.iteration)},
                  {"predicted_communication_or_waiting", to_json(row.exposed)}};
    if (row.failure.empty()) {
      entry["measured"] = to_json(row.measured);
      entry["iteration_error"] = row.iteration_error();
      // JSON has no infinity: predicted where nothing was measured.
      if (std::isfinite(row.exposed_error())) entry["exposed_error"] = row.exposed_error();
      entry["communication_share"] = row.communication_share();
    } else {
      entry["failure"] = row.failure;
    }
    rows.push_back(std::move(entry));
  }
  return {{"format", "forescale-executed-schedules-1"},
          {"title", comparison.title},
          {"library", comparison.library},
          {"bytes_scale", comparison.bytes_scale},
          {"compute_scale", comparison.compute_scale},
          {"schedules", rows},
          {"refused", comparison.refused},
          {"distinguishable_pairs", comparison.order.pairs},
          {"wrong_order", comparison.order.wrong}};
}

}  // namespace forescale
