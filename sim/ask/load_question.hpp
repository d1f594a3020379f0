// From a question to what the simulator takes: files read, names looked up, everything checked.
#pragma once

#include <string>
#include <vector>

#include "sim/ask/question.hpp"
#include "sim/predict.hpp"

namespace forescale {

// Platform and stack of a question of either kind. InputError for anything wrong in them.
struct QuestionMachine {
  Platform platform;
  Stack stack;
};
QuestionMachine load_machine(const Question& question, Scenario scenario);

// All inputs of a training question. InputError for anything wrong.
PredictionInputs load_inputs(const Question& question, Scenario scenario);

// As --scale-number takes it: FILE:/json/pointer, the project's own files from its root.
std::string name_of(const NumberSource& number);

// Those asked for, else 1, 2, 4, ... up to all. InputError for one that the platform does not hold.
std::vector<int> gpu_counts(const Question& question, const PredictionInputs& inputs);

}  // namespace forescale
