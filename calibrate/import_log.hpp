// Logs of other people's benchmarks as a Measurement: OSU micro-benchmarks, Intel MPI Benchmarks
// (IMB), nccl-tests. docs/measurements.md says what of each is read and how sizes are converted.
//
// A log is read line by line in bounded memory. Each wrong line is an InputError with the file,
// "line N", the line and why: nothing that is doubtful becomes a point.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measurement.hpp"

namespace forescale {

// What a log may not say itself. Where it does, the log is believed, but for `op`: one that differs
// from the log's is refused.
struct LogImportOptions {
  int ranks = 0;           // 0: not given
  int ranks_per_host = 1;  // of collectives
  std::string op = {};     // name_of(CollectiveOp), for nccl-tests before 2.17
  std::string place = {};  // "host" or "gpu", for OSU logs of "MPI-CUDA" and the like
  bool partial = false;    // take what a log that was cut short holds, with a note
};

// "imb", "nccl-tests", "osu".
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
