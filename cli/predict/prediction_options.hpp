// The options that say what is trained, where and how: of `predict` and of the commands that
// predict many times.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "studies/predict/prediction.hpp"

namespace forescale {

struct PredictionOptions {
  PredictionText text;
  std::vector<std::string> schedule_options;

  // With what --option said. InputError for one that was given twice.
  PredictionText with_options() const;
};

// What is alike wherever a prediction is asked for: workload, GPU counts, conditions.
void add_workload_options(Subcommand command, PredictionOptions& options);
// --platform, --system, --schedule, --stack, one of each.
void add_machine_options(Subcommand command, PredictionOptions& options);

}  // namespace forescale
