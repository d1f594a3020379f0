// A training schedule made ready for two engines: the simulator, and the MPI worker whose ranks
// really send what the schedule sends and wait as long as an emulated GPU would compute.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "calibrate/measure/schedule_request.hpp"
#include "studies/predict/prediction.hpp"

namespace forescale {

// As typed.
struct ScheduleExperimentText {
  // Platform (hosts with an emulated GPU), stack, model, batch, scaling, options, ...; schedule,
  // gpus and trace are not read. iterations: 0 for kIterationsMin, or more where the schedule needs
  // them.
  PredictionText common;
  int workers = 0;
  std::vector<std::string> schedules;  // "phases,sc-obr", "ddp:bucket_cap=1MiB", "all"
  std::vector<std::string> plans;      // "all-reduce/ring": instead of the stack's choice
  // On the values of every tensor, at least one each: a network for a slower fabric. Compute times
  // stay as they are.
  double bytes_scale = 1;
  Compute compute = Compute::kSleep;
  // Who moves messages on: "thread" (always) or "inside-calls"; empty: as the stack says.
  std::string progress;
};

inline constexpr int kIterationsMin = 6;

// One schedule, ready for both engines.
struct ScheduleExperiment {
  std::string schedule;                     // as typed
  std::vector<PredictionInputs> scenarios;  // nominal; and fast, slow if asked for
  TrainingRun run;                          // of the nominal one
  ScheduleRequest request;
};

// InputError for whatever the MPI worker does not do: training data that cost something, noise, a
// platform with real GPUs, a share of the batch that does not fit in the GPU's memory; and servers
// that the platform has elsewhere than MPI would put them: rank r on host r mod `hosts` (0: not
// known).
ScheduleExperiment make_experiment(const ScheduleExperimentText& text, const std::string& schedule,
                                   int hosts);

// What the MPI program is told.
nlohmann::json mpi_request(const ScheduleExperiment& experiment, double nap_s);

// The schedules of the text, "all" being every registered one. InputError naming --schedules.
std::vector<std::string> schedules_of(const ScheduleExperimentText& text);

}  // namespace forescale
