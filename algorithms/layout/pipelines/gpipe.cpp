// All forward passes, then all backward passes. With p ranks, m micro-batches and stages that take
// t = F + B: (m + p - 1) t, and all m are held.
//
// Huang et al., GPipe, NeurIPS 2019, section 2.
#include "algorithms/layout/pipeline.hpp"

namespace forescale {
namespace {

std::vector<std::vector<PipelinePass>> gpipe(const PipelineShape& shape) {
  std::vector<std::vector<PipelinePass>> orders(static_cast<size_t>(shape.ranks));
  for (int rank = 0; rank < shape.ranks; ++rank)
    for (const PassKind kind : {PassKind::kForward, PassKind::kBackward})
      for (int i = 0; i < shape.micro_batches; ++i)
        orders[static_cast<size_t>(rank)].push_back(
            {.kind = kind, .stage = rank, .micro_batch = i});
  return orders;
}

const bool kGpipeRegistered =
    Registry<PipelineSchedule>::add({.name = "gpipe",
                                     .summary = "all forward passes, then all backward passes",
                                     .source = "Huang et al., GPipe, NeurIPS 2019, section 2",
                                     .orders = gpipe});

}  // namespace
}  // namespace forescale
