// What a claims file asks to be simulated: training runs and collectives by name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/plan_choice.hpp"
#include "base/json_input.hpp"
#include "studies/predict/prediction.hpp"

namespace forescale {

// Compute times are scaled by one factor, so that this many GPUs reach this throughput: the speed
// of the framework on one GPU is an input, how it scales is the prediction.
struct Calibration {
  int gpus = 1;
  double images_per_s = 0;
  std::string source;
};

struct ClaimedCollective {
  std::string platform;
  std::string placement;  // of ranks on slots; empty: the platform's own
  std::string stack;
  std::string op;
  std::string algorithm;  // empty: the stack's choice
  OptionValues options;   // of the algorithm
  // Nothing: the stack's choice. InputError for an option that the algorithm does not declare.
  std::optional<PlanChoice> plan() const;
};

// One of the two; ranks, sizes and GPU counts come from the formulas that use it.
struct RunRequest {
  std::string name;
  std::optional<PredictionText> training;
  std::optional<Calibration> calibration;  // of training
  std::optional<ClaimedCollective> collective;
  std::vector<std::string> omitted;  // keys of rules
};

// The object of a claims file: {NAME: {"predict": {...} or "collective": {...}, "extends": NAME,
// "omitted": [rule keys]}}.
std::map<std::string, RunRequest> read_requests(const JsonInput& in);

}  // namespace forescale
