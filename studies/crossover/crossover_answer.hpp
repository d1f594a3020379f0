// One contest answered by the three models, and why they differ.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "studies/crossover/crossover_models.hpp"

namespace forescale {

// How far to go.
enum class Depth { kEquations, kCostEngine, kSimulator };

// Where one model sees the crossing, and the times there.
struct ModelCrossing {
  Crossing crossing;
  std::int64_t at_bytes = 0;
  double first_s = 0;
  double second_s = 0;
  bool crosses() const {
    return crossing.verdict == Verdict::kStarts || crossing.verdict == Verdict::kStops;
  }
  bool is_at(const ModelCrossing& other) const { return crossing == other.crossing; }
};

struct CrossoverAnswer {
  int ranks = 0;
  std::int64_t chunk_bytes = 0;
  // None: not asked, or the model does not cover the contest.
  std::optional<ModelCrossing> equations = {};
  std::optional<ModelCrossing> cost_engine = {};
  std::optional<ModelCrossing> simulator = {};
  std::string explanation = {};  // what moves the crossing from one model to the next
  // What it was found from, to be printed alone: "step", "lane_rules", "reduce_s_per_chunk",
  // "contention".
  nlohmann::json evidence = {};

  // In this order: equations, cost engine, simulator.
  std::vector<const std::optional<ModelCrossing>*> models() const;
  // How far the models are apart: the largest ratio of two crossings; infinite where one has none.
  double spread() const;
};
void to_json(nlohmann::json& json, const CrossoverAnswer& answer);
void from_json(const nlohmann::json& json, CrossoverAnswer& answer);

// Simulates in child processes.
CrossoverAnswer answer(const Contest& contest, Depth depth);

// A cell: "11 MiB (44)", "until 4 MiB (16)", "always", "never", "-".
std::string crossing_cell(const std::optional<ModelCrossing>& crossing);

}  // namespace forescale
