// Training jobs as JSON: what a rank of a recorded schedule trains.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "algorithms/schedule.hpp"
#include "models/json_input.hpp"

namespace forescale {

nlohmann::json to_json(const TrainingJob& job);

// Exact: what was written is read to the last bit. InputError naming the key and what is wrong
// with it, an option that `schedule` does not have among them.
TrainingJob read_training_job(const JsonInput& in, const Schedule& schedule);

}  // namespace forescale
