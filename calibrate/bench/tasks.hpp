// The tasks of an MPI program; each reads its part of the request (request.hpp) on every rank, so
// that an InputError is every rank's, thrown before the first message.
#pragma once

#include "base/json_input.hpp"
#include "calibrate/bench/answer.hpp"
#include "calibrate/bench/patience.hpp"

namespace forescale {

struct TaskSettings {
  Patience patience;  // "wait"
  int channels = 1;
  AnswerFile answer;
};

void run_collectives(const JsonInput& request, TaskSettings& settings);
void run_counts(const JsonInput& request, TaskSettings& settings);
void run_patterns(const JsonInput& request, TaskSettings& settings);
void run_schedule(const JsonInput& request, TaskSettings& settings);

}  // namespace forescale
