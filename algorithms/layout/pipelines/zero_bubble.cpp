// Zero bubble: the gradients of the inputs go ahead, those of the weights follow where a rank would
// wait. ZB-H1 is 1F1B in which rank r is r micro-batches late with them: it holds what 1F1B's first
// rank does, p micro-batches, and its bubble is (p - 1) (F + I - W), a third of 1F1B's where all
// three are alike. ZB-V has two stages a rank, the second ones in reverse order, so that the first
// and the last stage share a rank; each takes the first that it can of a gradient of inputs, a
// forward pass if it holds fewer than 2 p halves, a gradient of weights: found by running all with
// F = I = W.
//
// Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024 (arXiv:2401.10241), sections 2.1 and 6.
#include <algorithm>
#include <deque>

#include "algorithms/layout/pipeline.hpp"

namespace forescale {
namespace {

int v_rank(const PipelineShape& shape, int stage) {
  return stage < shape.ranks ? stage : shape.stages() - 1 - stage;
}

// Runs a pass a step on every rank, each of which takes what it can.
class Greedy {
 public:
  // `held_max`: passes forward whose weights' gradients a rank may owe.
  Greedy(const PipelineShape& shape, int (*place)(const PipelineShape& shape, int stage),
         int held_max)
      : shape_(shape), held_max_(held_max), orders_(static_cast<size_t>(shape.ranks)) {
    held_.resize(orders_.size());
    owed_.resize(orders_.size());
    stages_.resize(orders_.size());
    forwards_.resize(static_cast<size_t>(shape.stages()));
    inputs_ = forwards_;
    for (int stage = 0; stage < shape.stages(); ++stage)
      stages_[static_cast<size_t>(place(shape, stage))].push_back(stage);
  }

  std::vector<std::vector<PipelinePass>> run() {
    const size_t passes =
        3 * static_cast<size_t>(shape_.micro_batches) * static_cast<size_t>(shape_.stages_a_rank);
    while (std::any_of(orders_.begin(), orders_.end(),
                       [&](const auto& order) { return order.size() < passes; })) {
      // What ends in this step can be taken up in the next one.
      const std::vector<int> forwards = forwards_;
      const std::vector<int> inputs = inputs_;
      for (size_t rank = 0; rank < orders_.size(); ++rank) step(rank, forwards, inputs);
    }
    return orders_;
  }

 private:
  void step(size_t rank, const std::vector<int>& forwards, const std::vector<int>& inputs) {
    const auto done = [](const std::vector<int>& counts, int stage) {
      return counts[static_cast<size_t>(stage)];
    };
    const auto take = [&](PassKind kind, int stage, int micro_batch) {
      orders_[rank].push_back({.kind = kind, .stage = stage, .micro_batch = micro_batch});
    };
    const int last = shape_.stages() - 1;
    // The stage nearest to the loss first: it lets go of most.
    for (auto stage = stages_[rank].rbegin(); stage != stages_[rank].rend(); ++stage) {
      const int next = inputs_[static_cast<size_t>(*stage)];
      const int below = *stage == last ? done(forwards, *stage) : done(inputs, *stage + 1);
      if (next >= std::min(below, done(forwards, *stage))) continue;
      take(PassKind::kInputGradient, *stage, next);
      ++inputs_[static_cast<size_t>(*stage)];
      owed_[rank].push_back(orders_[rank].back());
      return;
    }
    for (auto stage = stages_[rank].rbegin(); stage != stages_[rank].rend(); ++stage) {
      const int next = forwards_[static_cast<size_t>(*stage)];
      const int above = *stage == 0 ? shape_.micro_batches : done(forwards, *stage - 1);
      // What comes back to a rank must find room, or first and second stages wait for each other.
      const bool comes_back = *stage == stages_[rank].front() && stages_[rank].size() > 1;
      const int room = held_max_ - (comes_back ? 1 : 0);
      if (next >= above || held_[rank] >= room) continue;
      take(PassKind::kForward, *stage, next);
      ++forwards_[static_cast<size_t>(*stage)];
      ++held_[rank];
      return;
    }
    if (owed_[rank].empty()) return;
    take(PassKind::kWeightGradient, owed_[rank].front().stage, owed_[rank].front().micro_batch);
    owed_[rank].pop_front();
    --held_[rank];
  }

  PipelineShape shape_;
  int held_max_;
  std::vector<std::vector<PipelinePass>> orders_;
  std::vector<int> held_;                       // by rank
  std::vector<std::deque<PipelinePass>> owed_;  // by rank
  std::vector<std::vector<int>> stages_;        // by rank
  std::vector<int> forwards_;                   // by stage, how many micro-batches are through
  std::vector<int> inputs_;
};

std::vector<PipelinePass> h1_rank(const PipelineShape& shape, int rank) {
  const int before = std::min(shape.ranks - 1 - rank, shape.micro_batches);
  std::vector<PipelinePass> order;
  const auto add = [&](PassKind kind, int micro_batch) {
    order.push_back({.kind = kind, .stage = rank, .micro_batch = micro_batch});
  };
  for (int i = 0; i < before; ++i) add(PassKind::kForward, i);
  for (int i = 0; i < shape.micro_batches; ++i) {
    if (before + i < shape.micro_batches) add(PassKind::kForward, before + i);
    add(PassKind::kInputGradient, i);
    if (i >= rank) add(PassKind::kWeightGradient, i - rank);
  }
  for (int i = std::max(0, shape.micro_batches - rank); i < shape.micro_batches; ++i)
    add(PassKind::kWeightGradient, i);
  return order;
}

std::vector<std::vector<PipelinePass>> h1(const PipelineShape& shape) {
  std::vector<std::vector<PipelinePass>> orders;
  for (int rank = 0; rank < shape.ranks; ++rank) orders.push_back(h1_rank(shape, rank));
  return orders;
}

const bool kZeroBubbleRegistered = [] {
  Registry<PipelineSchedule>::add(
      {.name = "zb-h1",
       .summary = "1f1b whose weights' gradients fill the bubble, in its memory",
       .source = "Qi et al., arXiv:2401.10241, section 2.1",
       .splits_backward = true,
       .orders = h1});
  Registry<PipelineSchedule>::add(
      {.name = "zbv",
       .summary = "two stages a rank, there and back, the weights' gradients in between",
       .source = "Qi et al., arXiv:2401.10241, section 6",
       .stages_a_rank_min = 2,
       .stages_a_rank_max = 2,
       .splits_backward = true,
       .rank_of = v_rank,
       .orders = [](const PipelineShape& shape) {
         return Greedy(shape, v_rank, 2 * shape.ranks).run();
       }});
  return true;
}();

}  // namespace
}  // namespace forescale
