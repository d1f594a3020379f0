// A training schedule made ready for two engines: the simulator, and the MPI worker whose ranks
// really send what the schedule sends and wait as long as an emulated GPU would compute.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "calibrate/measure/schedule_request.hpp"
#include "studies/predict/prediction.hpp"

namespace forescale {

struct ScheduleExperimentSettings {
  // Platform (hosts with an emulated GPU), stack, model, batch, scaling, plans, ...; schedule and
  // gpus are not read. iterations: 0 for kIterationsMin, or more where the schedule needs them.
  Question question;
  Draws draws = Draws::kEnds;
  int workers = 0;
  std::vector<std::string> schedules;  // "phases,sc-obr", "ddp:bucket_cap=1MiB", "all"
  Compute compute = Compute::kSleep;
};

inline constexpr int kIterationsMin = 6;

// One schedule, ready for both engines.
struct ScheduleExperiment {
  Question question;        // of one schedule and GPU count
  PredictionInputs inputs;  // nominal
  TrainingRun run;          // of those
  ScheduleRequest request;
};

// InputError for whatever the MPI worker does not do: training data that cost something, noise, a
// platform with real GPUs, a share of the batch that does not fit in the GPU's memory; and servers
// that the platform has elsewhere than MPI would put them: rank r on host r mod `hosts` (0: not
// known).
ScheduleExperiment make_experiment(const ScheduleExperimentSettings& settings,
                                   const std::string& schedule, int hosts);

// What the MPI program is told.
nlohmann::json mpi_request(const ScheduleExperiment& experiment, double nap_s);

// The schedules of the settings, "all" being every registered one. InputError naming --schedules.
std::vector<std::string> schedules_of(const ScheduleExperimentSettings& settings);

}  // namespace forescale
