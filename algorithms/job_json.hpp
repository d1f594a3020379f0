// A rank's training job as JSON, for the MPI programs and for recorded programs. Times in seconds,
// sizes in bytes; what is written is read back as it was, to the bit.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "algorithms/schedule.hpp"
#include "base/json_input.hpp"

namespace forescale {

nlohmann::json job_to_json(const TrainingJob& job);

// InputError: missing or unknown keys, negative or huge numbers, tensors that do not add up to
// their stage's parameters, options that `schedule` does not have, or out of their range.
TrainingJob job_from_json(const JsonInput& in, const Schedule& schedule);

}  // namespace forescale
