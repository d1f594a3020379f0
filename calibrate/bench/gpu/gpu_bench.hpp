// What the measuring loop knows of a GPU: things that can be repeated, and how they fail. The loop
// (gpu_run.hpp) is tested without a GPU behind it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/compute/gpu_kernel.hpp"

namespace forescale {

// Caught by the loop and told in the answer; it never leaves this program.
class GpuTrouble : public std::runtime_error {
 public:
  enum class Kind {
    kUnusable,     // no driver, no GPU, ...: nothing can be measured
    kOutOfMemory,  // for this size or shape
    kUnsupported,  // this GPU or library cannot do it
    kFault         // a kernel or a copy failed, or a result is wrong: nothing more can be measured
  };
  GpuTrouble(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// One pattern at one size, or one kernel, with its buffers.
class Repeatable {
 public:
  Repeatable() = default;
  virtual ~Repeatable() = default;
  Repeatable(const Repeatable&) = delete;
  Repeatable& operator=(const Repeatable&) = delete;

  // Seconds of one of `count` in a row.
  virtual double mean_s(int count) = 0;
  // At most so many in a row.
  virtual int count_max() const { return 256; }
  // The library's name for how it is done, empty if it has none.
  virtual std::string algorithm() const { return ""; }
};

struct GpuPatternPoint {
  std::string pattern;
  std::vector<int> members;  // GPUs
  std::int64_t bytes = 0;
};

class GpuBench {
 public:
  GpuBench() = default;
  virtual ~GpuBench() = default;
  GpuBench(const GpuBench&) = delete;
  GpuBench& operator=(const GpuBench&) = delete;

  // Name, driver, versions, clocks, ...
  virtual std::map<std::string, std::string> facts() const = 0;
  // What else uses the GPU, asked while this program does not; what slowed it down, asked at the
  // end. A line each.
  virtual std::vector<std::string> warnings_before() = 0;
  virtual std::vector<std::string> warnings_after() = 0;
  // The groups of GPUs that `pattern` is measured on: none where there are too few.
  virtual std::vector<std::vector<int>> groups(const std::string& pattern) const = 0;
  // GpuTrouble where it cannot be done.
  virtual std::unique_ptr<Repeatable> start(const GpuPatternPoint& point) = 0;
  virtual std::unique_ptr<Repeatable> start(const GpuKernel& kernel) = 0;
};

}  // namespace forescale
