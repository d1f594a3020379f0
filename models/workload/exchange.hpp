// What a layer that is shared by several GPUs exchanges with the others of its group, in place of
// work on the GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forescale {

// Who takes part: GPUs that share a layer's weights, each sequence, or a layer's experts.
enum class ExchangeGroup { kTensor, kContext, kExpert };
// kTokens: an all-to-all in which a token that several GPUs of a node want goes there once, and on
// from there (DeepEP).
enum class ExchangeKind { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kTokens };

struct Exchange {
  ExchangeGroup group = ExchangeGroup::kTensor;
  std::vector<ExchangeKind> forward;
  std::vector<ExchangeKind> backward;
  // For one image: what an all-gather ends with on each GPU, a reduce-scatter begins with, an
  // all-reduce or all-to-all takes (of tokens: all their copies).
  std::int64_t values = 0;
};

}  // namespace forescale
