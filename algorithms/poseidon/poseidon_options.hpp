// Options that Poseidon's schedules have in common.
#pragma once

#include <vector>

#include "algorithms/poseidon/poseidon_plan.hpp"

namespace forescale {

std::vector<Option> poseidon_options();
// The settings that these options say.
PoseidonSettings poseidon_settings(const TrainingJob& job);
// Placement of the servers by these options.
Servers poseidon_servers(const TrainingJob& job, int workers);

}  // namespace forescale
