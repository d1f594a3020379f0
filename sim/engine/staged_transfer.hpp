// A staged message as the explicit pipeline that it is: every segment through every stage.
//
// Segment j enters stage k when it has left stage k-1 and segment j-1 has left stage k; there it
// waits the segment overhead and then moves at its share of the stage's links. 3 N/segment flows a
// message: exact, and 5 to 300 times dearer than the fill formula of models/stack.hpp, whose oracle
// it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/engine/machine.hpp"

namespace forescale {

struct StagedTransferSpec {
  std::int64_t bytes = 0;
  std::int64_t segment_bytes = 0;
  double segment_overhead_s = 0;
  const std::vector<Machine::Path>* stages = nullptr;
  size_t slowest_stage = 0;
  std::function<void()> on_moved;      // the last segment has left the slowest stage
  std::function<void()> on_delivered;  // it has left the last stage; after on_moved
};

// Must live until it has delivered, and while its own code is on the call stack.
class StagedTransfer {
 public:
  StagedTransfer(World& world, StagedTransferSpec spec);
  ~StagedTransfer();
  StagedTransfer(const StagedTransfer&) = delete;
  StagedTransfer& operator=(const StagedTransfer&) = delete;
  void start();  // kernel context

 private:
  struct Stage;
  void advance(size_t index);
  void segment_done(size_t index);

  World& world_;
  StagedTransferSpec spec_;
  std::int64_t segments_ = 0;
  std::vector<std::unique_ptr<Stage>> stages_;
};

}  // namespace forescale
