// The layers of a decoder-only transformer (transformer.hpp), as an Architecture: what a fused
// implementation runs (FlashAttention, fused rotary positions and gates), as Megatron-LM does with
// Transformer Engine.
//
// A layer is: norm, one product for queries, keys and values, rotary positions, attention, product,
// sum; norm, product up (gate and up side by side), gate, product down, sum. Names: "layer1/qkv".
#pragma once

#include "models/workload/architecture.hpp"
#include "models/workload/transformer/transformer.hpp"

namespace forescale {

// On sequences of so many tokens. InputError naming `option` for none, or more than the model has
// learned positions.
Architecture decoder(const Transformer& model, std::int64_t tokens, const std::string& option);

}  // namespace forescale
