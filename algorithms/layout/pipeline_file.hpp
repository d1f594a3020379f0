// A pipeline's schedule out of the CSV file of torch.distributed.pipelining.
#pragma once

#include <string>

#include "algorithms/layout/pipeline.hpp"

namespace forescale {

// "schedule=FILE.csv" in a layout.
bool is_pipeline_file(const std::string& schedule);

// Of so many ranks, stages and micro-batches. A line a rank, a cell a pass: "1F0" is stage 1,
// forward, micro-batch 0; F, B (both gradients), I and W (before PyTorch 2.5: B and W). What sends,
// receives or gathers is left out: it follows from the passes. InputError naming file, line and
// cell, or `option` and the two numbers that do not fit.
//
// Source: PyTorch, torch/distributed/pipelining/schedules.py (_Action, _dump_csv, _load_csv).
PipelineSchedule read_pipeline_file(const std::string& file, const PipelineShape& shape,
                                    const std::string& option);

}  // namespace forescale
