// The layers of a decoder-only transformer (transformer.hpp), as an Architecture: what a fused
// implementation runs (FlashAttention, fused rotary positions and gates), as Megatron-LM does with
// Transformer Engine. Asked for, attention is the one before it: products a head with the scores in
// memory, a softmax with scale and mask, dropout (Megatron-LM's DotProductAttention).
//
// A layer is: norm, one product for queries, keys and values, rotary positions, attention, product,
// sum; norm, product up (gate and up side by side), gate, product down, sum. Names: "layer1/qkv".
//
// Of a model that is spread over GPUs, what one of them has: its stage's layers; heads, widths of
// the feed-forward part and words over `tensor`; between products the tokens too, with sequence
// parallelism; tokens over `context`; experts over `expert` and their widths over `expert_tensor`.
// What it exchanges with the others are layers of their own (operators/exchanges.cpp).
// Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3; Korthikanti et al.,
// arXiv:2205.05198, section 4.2. Limits: with fewer heads of keys and values than `tensor` each GPU
// has one; what cross entropy exchanges (8 bytes a token) is left out.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "models/workload/architecture.hpp"
#include "models/workload/transformer/transformer.hpp"

namespace forescale {

// Low-rank adapters (LoRA): beside a product two narrow ones behind each other, whose result is
// added to its own. They learn alone: all other weights are frozen. Where a product's weights are
// shared by input, what comes out of the first narrow one is added up over the group, and each GPU
// has the second one for its own tokens. Source: Hu et al., arXiv:2106.09685; NVIDIA NeMo,
// collections/llm/peft/lora.py and utils.py (ParallelLinearAdapter). Left out: their dropout, and
// the product with alpha / rank.
struct Adapters {
  std::int64_t rank = 0;               // 0: none, all weights learn
  std::set<std::string> targets = {};  // of adapter_targets()
};
// InputError naming `option` for a rank that is not below the hidden size, and for models with
// experts or latent attention.
void check_adapters(const Transformer& model, const Adapters& adapters, const std::string& option);
// Megatron Bridge's names: linear_qkv, linear_proj, linear_fc1 and linear_fc2.
std::vector<std::string> adapter_targets();

// One GPU's share; as it is: all of the model.
struct DecoderShare {
  std::int64_t tensor = 1;
  bool has_sequence_parallel = true;  // where tensor > 1
  std::int64_t context = 1;
  bool sends_heads = false;  // where context > 1: each GPU has all tokens of some heads (Ulysses)
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 1;
  // Of tokens, over an equal share, that the GPU with most of them gets: this one.
  std::int64_t expert_permille = 1000;
  bool sends_once = false;  // a token to a node, however many of its GPUs want it
  std::int64_t first_layer = 0;
  std::int64_t layers = -1;  // -1: all from the first on
  bool has_embedding = true;
  bool has_head = true;
  bool has_scores_in_memory = false;
  std::int64_t texts = 1;  // packed into each sequence, equally long: attention stays in each
  Adapters adapters = {};
};

// Of the same block as another of its layers.
std::string core_attention_beside(const std::string& layer);

// On sequences of so many tokens. InputError naming `option` for none, or more than the model has
// learned positions; or a share that does not divide what it is of, with both numbers.
Architecture decoder(const Transformer& model, std::int64_t tokens, const std::string& option,
                     const DecoderShare& share = {});

}  // namespace forescale
