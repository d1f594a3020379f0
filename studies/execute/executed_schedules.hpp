// Predicted against executed training schedules: iteration times, exposed communication, and which
// schedule is faster.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "studies/execute/executed_collectives.hpp"
#include "studies/execute/schedule_experiment.hpp"

namespace forescale {

// Rank 0 in the steady state (base/steady_state.hpp), seconds, by kinds of phases
// (algorithms/phase.hpp). Only the simulator can tell waiting (for ranks that have not called a
// collective yet) from communication: on a real network it is part of that. So what is compared is
// their sum.
struct IterationTimes {
  double iteration_s = 0;
  double compute_s = 0;
  double exposed_s = 0;  // communication while nothing is computed
  double waiting_s = 0;  // measured: 0
  double idle_s = 0;     // none of these
  double communication_or_waiting_s() const { return exposed_s + waiting_s; }
  double payload_bytes = 0;  // that all ranks together send in an iteration
  bool is_steady = true;
};
IterationTimes iteration_times(const PredictionPoint& point);
// From the MPI program's answer (calibrate/bench/request.hpp). InputError naming `source` for what
// is no answer for so many workers and iterations.
IterationTimes iteration_times(const nlohmann::json& answer, const std::string& source,
                               const ScheduleExperiment& experiment);

struct ScheduleRow {
  std::string schedule;
  IterationTimes predicted;
  TimeRange iteration;  // predicted, with the interval that uncertain numbers cause
  TimeRange exposed;    // communication or waiting
  IterationTimes measured;
  std::string failure;  // why nothing was predicted or measured; empty: something was

  double iteration_error() const;  // predicted / measured - 1
  double exposed_error() const;    // the same of communication or waiting; 0 where neither has any
  double communication_share() const;  // communication or waiting over iteration, measured
};

// Of every two schedules whose measured iterations differ by more than kDistinguishable: is the one
// that was predicted to be faster the faster one?
struct OrderCheck {
  int pairs = 0;
  std::vector<std::string> wrong = {};  // "sc-ob is predicted before phases, but ..."
};
inline constexpr double kDistinguishable = 0.05;
OrderCheck check_order(const std::vector<ScheduleRow>& rows);

// Where schedules are executed.
struct MpiEngine {
  int hosts = 0;     // rank r runs on host r mod hosts; 0: not known
  double nap_s = 0;  // between polls; 0: spin
  // Runs a request with so many ranks: the answer. Throws what main() knows.
  std::function<nlohmann::json(const nlohmann::json& request, int ranks)> run;
};

// One that launches the MPI program: `command(ranks)` is the launcher, its arguments and the
// program. A run of one schedule that takes longer than `timeout_s` is ended.
MpiEngine launching_engine(std::function<std::vector<std::string>(int ranks)> command,
                           double timeout_s);

struct ScheduleComparison {
  std::string title;
  std::string library;  // "Open MPI 4.1.4"
  double bytes_scale = 1;
  double compute_scale = 1;
  std::vector<ScheduleRow> rows;
  std::vector<std::string> refused;  // those of "all" that cannot run here, and why
  OrderCheck order;
};

// Predicts all schedules, then executes one after the other, so that the engines do not disturb
// each other. A prediction or a run that fails leaves its reason in its row; CheckFailed when all
// do. `on_progress`
// is told what begins.
ScheduleComparison compare_schedules(const ScheduleExperimentSettings& settings,
                                     const MpiEngine& engine,
                                     const std::function<void(const std::string&)>& on_progress);

nlohmann::json to_json(const ScheduleComparison& comparison);

}  // namespace forescale
