// What a layer that is shared by several GPUs exchanges with the others of its group, in place of
// work on the GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forescale {

// Who takes part: GPUs that share a layer's weights, each sequence, or a layer's experts.
enum class ExchangeGroup { kTensor, kContext, kExpert };
enum class ExchangeKind { kAllReduce, kAllGather, kReduceScatter, kAllToAll };

struct Exchange {
  ExchangeGroup group = ExchangeGroup::kTensor;
  std::vector<ExchangeKind> forward;
  std::vector<ExchangeKind> backward;
  // For one image: what an all-gather ends with on each GPU, a reduce-scatter begins with, an
  // all-reduce or all-to-all takes.
  std::int64_t values = 0;
};

}  // namespace forescale
