// The part of `forescale calibrate measure` that is about GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/calibrate/measure_session.hpp"
#include "cli/command_line.hpp"

namespace forescale {

// Its own options.
struct GpuChoice {
  bool is_wanted = false;
  int device = 0;
  std::vector<std::string> networks;
  std::vector<std::int64_t> batches;
  std::vector<std::string> precisions;
  std::string layout = "nchw";
  std::string request_file;
};
// --gpu and what needs it; `others` have no meaning beside it.
void add_gpu_options(Subcommand command, GpuChoice& choice, const std::vector<std::string>& others);

// Options that other measurements have too, as they were typed.
struct CommonChoice {
  std::string budget;
  std::string bytes_max;
  std::vector<std::string> patterns;
  std::string machine;
  MeasureOutput output;
};
void measure_on_gpu(const GpuChoice& choice, const CommonChoice& common);

}  // namespace forescale
