// What was measured so far, and the file of it: a "forescale-measurement-1" that is whole at any
// time (rewritten beside and renamed), so that nothing is lost when this program ends early.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "calibrate/bench/gpu/gpu_request.hpp"
#include "calibrate/bench/patterns/sample_summary.hpp"

namespace forescale {

class GpuAnswer {
 public:
  GpuAnswer(const GpuRequest& request, std::string file);

  void set_facts(const std::map<std::string, std::string>& facts);
  void begin_series(const GpuSeriesRequest& series, const std::vector<int>& members);
  void add_point(std::int64_t bytes, const SampleSummary& times_s);
  void add_kernel(const GpuKernelRequest& kernel, const SampleSummary& times_s,
                  const std::string& algorithm);
  // The same note again counts; "example" is told of its first.
  void note(const std::string& text, const std::string& example = "");

  // std::runtime_error when the file cannot be written.
  void write();
  // The same, unless it was written a moment ago.
  void keep();

  nlohmann::json document() const;
  int times() const { return times_; }            // points and kernels
  int wide_times() const { return wide_times_; }  // whose spread is wide

 private:
  struct Note {
    std::string text;
    std::string example;
    int count = 0;
  };
  void count_spread(const SampleSummary& times_s);

  nlohmann::json document_;
  std::vector<Note> notes_;
  std::string file_;
  double written_s_ = -1;
  double writing_s_ = 0;
  int times_ = 0;
  int wide_times_ = 0;
};

}  // namespace forescale
