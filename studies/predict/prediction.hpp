// A prediction's inputs from names, its run over GPU counts, and its table: shared by `predict` and
// `demo`.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/failures.hpp"
#include "sim/ask/ask.hpp"
#include "sim/ask/spread.hpp"

namespace forescale {

struct Row {
  PredictionPoint point;
  // Of the 90 % interval (spread.hpp); equal to point's when not asked, 0 where it is not known.
  double iteration_fast_s = 0;
  double iteration_slow_s = 0;
  std::map<std::string, double> influences = {};  // on the interval (spread.hpp)
  double speedup = 0;                             // over the first row that fits, by images/s
  double efficiency = 0;
  double epoch_s = 0;    // with failures, where they were asked for
  int nodes = 1;         // that its GPUs are on
  Goodput goodput = {};  // of those nodes; all of the time without failures
};

struct Prediction {
  Question question;
  Draws draws = Draws::kEnds;
  bool has_range() const { return draws.has_range(); }
  bool has_failures() const { return !question.failures.empty(); }
  std::string title;  // "s-caffe-b-hr: GoogLeNet on kesch, batch 1024 (strong scaling)"
  std::string schedule;
  std::string framework;                       // that was asked for; may be empty
  std::string data;                            // source of training images; empty: synthetic
  std::map<std::string, std::string> options;  // of the schedule, all of them
  std::string samples;                         // "images", or "sequences" of text
  std::string stack;
  int baseline_gpus = 0;
  std::vector<Row> rows;
  std::vector<NumberSource> numbers;  // everything that the nominal run read
  // Of draws: what each uncertain number explains of the largest fitting count's scatter.
  std::vector<NumberShare> shares = {};
  std::string compute_description;
  std::vector<std::string> warnings;
};

// "s-caffe-b-hr: GoogLeNet on kesch, batch 1024 in all (strong scaling)".
std::string title_of(const Question& question, const PredictionInputs& inputs);

struct PredictionSettings {
  Draws draws = Draws::kEnds;
  AskFiles files = {};  // of the largest GPU count that fits
};
// Simulates every GPU count in processes of its own; with an asker, only what it was not asked yet.
Prediction run_prediction(const Question& question, const PredictionSettings& settings);
Prediction run_prediction(const Question& question, const PredictionSettings& settings,
                          Asker& asker);

nlohmann::json to_json(const Prediction& prediction);

}  // namespace forescale
