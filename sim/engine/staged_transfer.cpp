#include "sim/engine/staged_transfer.hpp"

#include <algorithm>

namespace forescale {

struct StagedTransfer::Stage final : Completion {
  Stage(StagedTransfer& owner, size_t number) : transfer(owner), index(number) {}
  void complete() override { transfer.segment_done(index); }
  StagedTransfer& transfer;
  size_t index;
  std::int64_t arrived = 0;  // segments that have left the stage before
  std::int64_t done = 0;     // segments that have left this one
  bool busy = false;
};

StagedTransfer::StagedTransfer(World& world, StagedTransferSpec spec)
    : world_(world),
      spec_(std::move(spec)),
      segments_((spec_.bytes + spec_.segment_bytes - 1) / spec_.segment_bytes) {
  for (size_t k = 0; k < spec_.stages->size(); ++k)
    stages_.push_back(std::make_unique<Stage>(*this, k));
}

StagedTransfer::~StagedTransfer() = default;

void StagedTransfer::start() { advance(0); }

// Sends the next segment through a stage, if it is there and the stage is free.
void StagedTransfer::advance(size_t index) {
  Stage& stage = *stages_[index];
  const std::int64_t available = index == 0 ? segments_ : stage.arrived;
  if (stage.busy || stage.done >= available) return;
  stage.busy = true;
  const std::int64_t begin = stage.done * spec_.segment_bytes;
  const auto bytes = static_cast<double>(std::min(spec_.segment_bytes, spec_.bytes - begin));
  world_.after(spec_.segment_overhead_s, [this, &stage, bytes] {
    world_.start_flow((*spec_.stages)[stage.index].links, bytes, &stage);
  });
}

void StagedTransfer::segment_done(size_t index) {
  Stage& stage = *stages_[index];
  stage.busy = false;
  ++stage.done;
  if (index + 1 < stages_.size()) {
    ++stages_[index + 1]->arrived;
    advance(index + 1);
  }
  const bool last = stage.done == segments_;
  if (last && index == spec_.slowest_stage) spec_.on_moved();
  if (last && index + 1 == stages_.size()) spec_.on_delivered();
  advance(index);
}

}  // namespace forescale
