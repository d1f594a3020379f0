// One contest answered by the three models, as JSON, and what its numbers say in words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "studies/crossover/crossover_models.hpp"

namespace forescale {

enum class Depth { kEquations, kCostEngine, kSimulator };

// Keys: ranks, chunk_bytes, the crossings `equations`, `cost_engine` and `simulator` (null: not
// asked, or the model does not cover it), `step`, `lane_rules`, `reduce_s_per_chunk`, `contention`,
// `explanation`. Simulates in child processes, `parallel` at a time.
nlohmann::json answer(const Contest& contest, Depth depth, int parallel);

// A cell: "11 MiB (44)", "until 4 MiB (16)", "always", "never", "-".
std::string crossing_cell(const nlohmann::json& crossing);

// How far the models are apart: the largest ratio of two crossings; infinite where one has none.
double spread(const nlohmann::json& point);

}  // namespace forescale
