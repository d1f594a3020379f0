// What a claims file asks to be simulated: training runs and collectives by name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json_input.hpp"
#include "sim/ask/question.hpp"

namespace forescale {

// Compute times are scaled by one factor, so that this many GPUs reach this throughput: the speed
// of the framework on one GPU is an input, how it scales is the prediction.
struct Calibration {
  int gpus = 1;
  double images_per_s = 0;
  std::string source;
};

// GPU counts of training, ranks and bytes of a collective come from the formulas that use it.
struct RunRequest {
  std::string name;
  Question question;
  std::optional<Calibration> calibration;  // of training
  std::vector<std::string> omitted;        // keys of rules
};

// The object of a claims file: {NAME: {"predict": {...} or "collective": {...}, "extends": NAME,
// "omitted": [rule keys]}}.
std::map<std::string, RunRequest> read_requests(const JsonInput& in);

}  // namespace forescale
