// DualPipe: the network twice on the ranks, one copy from the first to the last, one back, and half
// of the micro-batches through each, so that the middle of the pipeline is where both meet. Rank r
// and its mirror, ranks - 1 - r, hold the same parameters and do the same. DualPipeV: the network
// once, two stages a rank there and back, as zbv; cut in the middle, DualPipe is two of it. Of both
// micro-batches that go forward beside
// such that go backward, so that each one's exchanges of experts hide under the other's products
// (expert_overlap=true). A rank fills its pipeline until the first backward pass comes back, then
// alternates between its stages; the weights' gradients wait only where a rank would. Where F, I
// and W take as long the bubble is (p - 1) (FB + B - 3 W), FB a pair, B = I + W, and a rank holds
// at most 2 p + 1 forward passes of its two stages, p the ranks of a V.
//
// DeepSeek-V3 Technical Report, arXiv:2412.19437, section 3.2.1; deepseek-ai/DualPipe,
// dualpipe.py and dualpipev.py.
#include <deque>

#include "algorithms/layout/pipeline.hpp"

namespace forescale {
namespace {

int there_and_back(const PipelineShape& shape, int stage) {
  return stage < shape.ranks ? stage : shape.stages() - 1 - stage;
}

// The passes of one rank: `kThere` of its stage on the way there, `kBack` of that on the way back.
class RankPasses {
 public:
  enum Way { kThere = 0, kBack = 1 };

  RankPasses(const PipelineShape& shape, int rank) : stages_{rank, shape.stages() - 1 - rank} {}

  void both(Way forwards, Way backwards) {
    forward(forwards);
    order_.back().with_next = true;
    backward(backwards);
  }
  void forward(Way way) { add(PassKind::kForward, way, forwards_[way]++); }
  void backward(Way way) { add(PassKind::kBackward, way, backwards_[way]++); }
  // The weights' gradients follow later.
  void input_gradient(Way way) {
    add(PassKind::kInputGradient, way, backwards_[way]++);
    owed_.push_back(order_.back());
  }
  // That which has waited longest.
  void weight_gradient() {
    order_.push_back(owed_.front());
    order_.back().kind = PassKind::kWeightGradient;
    owed_.pop_front();
  }

  std::vector<PipelinePass> take() { return std::move(order_); }

 private:
  void add(PassKind kind, Way way, int micro_batch) {
    order_.push_back({.kind = kind, .stage = stages_[way], .micro_batch = micro_batch});
  }

  int stages_[2];
  int forwards_[2] = {0, 0};
  int backwards_[2] = {0, 0};
  std::deque<PipelinePass> owed_;
  std::vector<PipelinePass> order_;
};

std::vector<PipelinePass> order_of_rank(const PipelineShape& shape, int rank) {
  using enum RankPasses::Way;
  const int after = shape.ranks - 1 - rank;  // ranks between this one and where the way turns
  RankPasses passes(shape, rank);
  for (int i = 0; i < 2 * after; ++i) passes.forward(kThere);
  for (int i = 0; i <= rank; ++i) {
    passes.forward(kThere);
    passes.forward(kBack);
  }
  for (int i = 0; i < after; ++i) {
    passes.input_gradient(kBack);
    passes.weight_gradient();
    passes.forward(kBack);
  }
  for (int i = 0; i < shape.micro_batches - shape.stages() + rank + 1; ++i) {
    if (i == 0 && after == 0) {  // where the way turns, what comes back is its own
      passes.forward(kThere);
      passes.backward(kBack);
    } else {
      passes.both(kThere, kBack);
    }
    passes.both(kBack, kThere);
  }
  for (int i = 0; i < after; ++i) {
    passes.backward(kBack);
    passes.both(kBack, kThere);
  }
  // Of the last ones the first half whole.
  const int last = 2 * (rank + 1);
  for (int i = 0; i < last; ++i) {
    const RankPasses::Way way = i % 2 == 0 ? kBack : kThere;
    if (i <= rank)
      passes.backward(way);
    else
      passes.input_gradient(way);
  }
  for (int i = 0; i < after; ++i) {
    passes.weight_gradient();
    passes.input_gradient(kThere);
  }
  for (int i = 0; i <= rank; ++i) passes.weight_gradient();
  return passes.take();
}

// Of `ranks` ranks there are half as many of a V, and half of its micro-batches.
PipelineShape v_of(const PipelineShape& shape) {
  return {.ranks = shape.ranks / 2, .stages_a_rank = 2, .micro_batches = shape.micro_batches / 2};
}

int rank_of_copies(const PipelineShape& shape, int stage) {
  return stage < shape.ranks ? stage : shape.stages() - 1 - stage;
}

std::vector<PipelinePass> order_of_both_copies(const PipelineShape& shape, int rank) {
  const bool is_first_half = rank < shape.ranks / 2;
  const int of_v = is_first_half ? rank : shape.ranks - 1 - rank;
  std::vector<PipelinePass> order = order_of_rank(v_of(shape), of_v);
  for (PipelinePass& pass : order) {
    const int copy = (pass.stage == of_v) == is_first_half ? 0 : 1;
    pass.stage += copy * shape.ranks;
    pass.micro_batch = 2 * pass.micro_batch + copy;
  }
  return order;
}

const bool kDualPipeRegistered = [] {
  Registry<PipelineSchedule>::add(
      {.name = "dualpipe",
       .summary = "the network twice, one copy each way, forward and backward passes side by side, "
                  "for experts",
       .source = "DeepSeek-V3, arXiv:2412.19437, section 3.2.1; deepseek-ai/DualPipe, dualpipe.py",
       .splits_backward = true,
       .copies = 2,
       .micro_batches_a_rank_min = 2,
       .rank_of = rank_of_copies,
       .orders = [](const PipelineShape& shape) {
         std::vector<std::vector<PipelinePass>> orders;
         for (int rank = 0; rank < shape.ranks; ++rank)
           orders.push_back(order_of_both_copies(shape, rank));
         return orders;
       }});
  Registry<PipelineSchedule>::add(
      {.name = "dualpipev",
       .summary = "zbv's stages, forward and backward passes side by side, for experts",
       .source = "DeepSeek-V3, arXiv:2412.19437, section 3.2.1; deepseek-ai/DualPipe, dualpipev.py",
       .stages_a_rank_min = 2,
       .stages_a_rank_max = 2,
       .splits_backward = true,
       .micro_batches_a_rank_min = 2,
       .rank_of = there_and_back,
       .orders = [](const PipelineShape& shape) {
         std::vector<std::vector<PipelinePass>> orders;
         for (int rank = 0; rank < shape.ranks; ++rank)
           orders.push_back(order_of_rank(shape, rank));
         return orders;
       }});
  return true;
}();

}  // namespace
}  // namespace forescale
