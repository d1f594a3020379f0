// What an iteration of a transformer takes on a layout, and what its largest rank holds in memory.
//
// Passes of a stage are its kernels one after the other and, between them, what tensor, context and
// expert parallelism exchange; their order is the pipeline schedule's, with a message between
// stages. Gradients are reduced under the last backward pass, parameters gathered under the first
// forward pass, in the framework's parts; then the optimizer runs. Collectives are simulated with
// the other groups that call the same and share links with them, those of rank 0's groups for all,
// but for groups that a slow link is in the way of. Where ranks differ, each copy of the pipeline
// has its own passes. layout_program.hpp simulates all ranks at once. Limits: no slowdown of
// kernels beside collectives, nor of exchanges beside others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/layout/repeated_micro_batches.hpp"
#include "studies/layout/layout_memory.hpp"
#include "studies/layout/layout_setup.hpp"

namespace forescale {

struct LayoutPrediction {
  Layout layout;
  std::string model;
  std::string platform;
  std::string gpu;
  std::string stack;
  Precision precision = Precision::kBf16;  // quantised: of the products in layers, all else BF16
  std::int64_t gpus = 0;
  int nodes = 1;                // that they are on
  std::int64_t tokens = 0;      // of a sequence
  std::int64_t parameters = 0;  // of the model
  double iteration_s = 0;
  double tokens_per_s_gpu = 0;
  double model_flops = 0;  // of an iteration and GPU: forward and backward, nothing twice
  double peak_flops_per_s = 0;
  // Of the pipeline rank that computes longest, an iteration:
  double compute_s = 0;    // kernels of both passes
  double recompute_s = 0;  // and those that run again
  double host_s = 0;       // GPUs waiting for the CPU to ask for kernels
  double tensor_s = 0;     // exchanges, exposed
  double context_s = 0;
  double expert_s = 0;
  double pipeline_s = 0;  // bubble and messages between stages
  double data_s = 0;      // gradients and parameters that nothing hides
  double norm_s = 0;      // of that, the gradients' norm if all ranks ask for it at once
  double optimizer_s = 0;
  // What slow ranks, slow links and noise add, where there are any: all above is without.
  std::optional<double> variation_s = {};
  // Of copies that differ the last to end, in the first iteration.
  PipelineTotals passes = {};
  // What has those passes: pipeline_times() of these, none where nothing fits.
  std::shared_ptr<const PipelineSchedule> schedule = nullptr;
  PipelineShape shape = {};
  std::vector<PipelineCopy> copies = {};
  LayoutMemory memory;
  std::int64_t gpu_memory_bytes = 0;
  FullMemory full_memory;  // of its framework
  Unmodelled unmodelled = {};
  std::string unmodelled_rows = {};               // whose: "with tensor parallelism over nodes"
  std::optional<TimeRange> iteration = {};        // with its 90 % interval, where one was asked for
  std::map<std::string, double> influences = {};  // on the interval (sim/ask/spread.hpp)
  std::string failure = {};                       // why there is none; empty: there is one

  bool fits() const { return memory.bytes <= gpu_memory_bytes; }
  // By its memory's interval. Without it there are no times.
  bool may_fit() const { return memory.low_bytes <= gpu_memory_bytes; }
  bool surely_fits() const { return memory.high_bytes <= gpu_memory_bytes; }
  bool is_undecided() const { return may_fit() && gpu_memory_bytes < memory.high_bytes; }
  // It may take longer by full_memory's times, which iteration_s leaves out; its interval reaches
  // as far.
  bool is_full() const {
    return full_memory.from > 0 && static_cast<double>(memory.bytes) >=
                                       full_memory.from * static_cast<double>(gpu_memory_bytes);
  }
  double tokens_an_iteration() const {
    return static_cast<double>(layout.global_batch) * static_cast<double>(tokens);
  }
  double model_flops_share() const { return model_flops / iteration_s / peak_flops_per_s; }
};

// In the order of the cases; what several of them exchange is simulated once. InputError,
// SimulationStuck; or, where failures are kept, a case's `failure`.
std::vector<LayoutPrediction> predict_layouts(const std::vector<LayoutCase>& cases, Asker& asker,
                                              bool keep_failures = false);
// The same with intervals; the cases' scenarios are not looked at.
std::vector<LayoutPrediction> predict_layout_ranges(const std::vector<LayoutCase>& cases,
                                                    Asker& asker);

// As an answer to its question, a training of sequences.
Answer as_training(const LayoutPrediction& prediction);

}  // namespace forescale
