// Logs of other people's benchmarks as a Measurement: OSU micro-benchmarks, Intel MPI Benchmarks
// (IMB), nccl-tests; of one GPU: DeepBench (its logs, and its tables as CSV), `caffe time`, tables
// of Caffe's layer times, PyTorch's profiler (trace or key_averages()). docs/measurements.md and
// docs/gpu_models.md say what of each is read and how sizes are converted.
//
// A log is read line by line in bounded memory. Each wrong line is an InputError with the file,
// "line N", the line and why: nothing that is doubtful becomes a point.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/measure/measurement.hpp"

namespace forescale {

// What a log may not say itself. Where it does, the log is believed, but for `op`: one that differs
// from the log's is refused.
struct LogImportOptions {
  int ranks = 0;            // 0: not given
  int ranks_per_host = 1;   // of collectives
  std::string op = {};      // name_of(CollectiveOp), for nccl-tests before 2.17
  std::string place = {};   // "host" or "gpu", for OSU logs of "MPI-CUDA" and the like
  bool partial = false;     // take what a log that was cut short holds, with a note
  std::string device = {};  // which one, of a table of several
  // Of layers that a table names without their shapes: networks (zoo name, JSON file or Caffe
  // prototxt), and the batch where a network does not state it.
  std::vector<std::string> networks = {};
  std::int64_t batch = 0;
};

// "caffe-layers", "caffe-time", "deepbench", "imb", ...
std::vector<std::string> log_formats();

// `format` is one of log_formats() or "auto": told by the first line that only one tool writes.
// Points have no intervals: these tools print one time a size.
Measurement import_log(const std::string& file, const std::string& format,
                       const LogImportOptions& options);
// The same of a log in memory; `file` is what errors call it.
Measurement import_log_text(const std::string& text, const std::string& file,
                            const std::string& format, const LogImportOptions& options);

// All series of all, in that order; notes, libraries and provenance joined.
Measurement merge_measurements(const std::vector<Measurement>& parts);

}  // namespace forescale
