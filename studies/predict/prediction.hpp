// A prediction's inputs from names, its run over GPU counts, and its table: shared by `predict` and
// `demo`.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/predict.hpp"

namespace forescale {

// As typed; empty where not given.
struct PredictionText {
  std::string platform;
  std::string model;
  std::string input_shape;
  std::string system;
  std::string schedule;
  std::string stack;
  std::string batch;
  std::string scaling = "strong";
  std::string gpus;
  std::string epoch_images = "1281167";
  std::map<std::string, std::string> options;  // of the schedule: "fusion_threshold" -> "64MiB"
  std::string framework;  // whose compute times count; empty: the system's, else the network's
  std::string gpu_model;  // a file of `calibrate fit`; empty: the platform's GPU
  std::string precision = "fp32";  // of that model's kernels
  std::string data;                // source of training images; empty: synthetic
  std::string placement;           // of ranks on slots; empty: the platform's own
  std::string noise;               // parse_noise()
  std::string stragglers;
  int iterations = 0;        // 0: what the schedule needs
  double compute_scale = 1;  // of the compute times by layer: a framework's own single-GPU speed
  bool range = true;         // also with every assumed number at its fast and its slow end
  std::string trace;         // Chrome trace of the largest GPU count that fits
  std::string record;        // its program, for `forescale replay`
};

// All inputs for one scenario. InputError for anything wrong.
PredictionInputs load_inputs(const PredictionText& text, Scenario scenario);
std::vector<int> gpu_counts(const PredictionText& text, const PredictionInputs& inputs);

struct Row {
  PredictionPoint point;
  // Assumed numbers at their ends; equal to point's when not asked, 0 where it does not fit then.
  double iteration_fast_s = 0;
  double iteration_slow_s = 0;
  double speedup = 0;  // over the first row that fits, by images/s
  double efficiency = 0;
  double epoch_s = 0;
};

struct Prediction {
  PredictionText text;
  std::string title;  // "s-caffe-b-hr: GoogLeNet on kesch, batch 1024 (strong scaling)"
  std::string schedule;
  std::string framework;                       // that was asked for; may be empty
  std::string data;                            // source of training images; empty: synthetic
  std::map<std::string, std::string> options;  // of the schedule, all of them
  std::string stack;
  int baseline_gpus = 0;
  std::vector<Row> rows;
  std::vector<NumberSource> numbers;  // everything that the nominal run read
  std::string compute_description;
  std::vector<std::string> warnings;
};

// Simulates every GPU count in processes of its own.
Prediction run_prediction(const PredictionText& text);

nlohmann::json to_json(const Prediction& prediction);

}  // namespace forescale
