// What of a decoder's layers (decoder.hpp) runs again before their backward pass, by the ways that
// frameworks have: modules of Megatron-LM's selective recomputation, operators of PyTorch's, whole
// layers.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "models/workload/kept.hpp"
#include "models/workload/network.hpp"
#include "models/workload/transformer/transformer.hpp"

namespace forescale {

// What selective recomputation computes again of the layers' names: "core_attn", attention without
// its weights; "mlp" and "shared_experts" as a whole; "layernorm", "mla_up_proj", latent
// attention's queries, keys and values, and "moe_act", the experts' activation, whose results are
// dropped too. Source: Megatron-LM, core/transformer/transformer_config.py (recompute_modules).
std::vector<std::string> recompute_modules();
// Of those.
RunsAgainRule runs_again(const std::vector<std::string>& modules);

// How the operators of a block run that PyTorch's selective checkpointing looks at.
struct BlockOperators {
  std::int64_t tensor = 1;         // GPUs that share its products
  bool scatters_results = false;   // those that they sum up: a reduce-scatter, which is saved
  bool has_plain_products = true;  // matrix products of the activations' precision (aten::mm)
  // The results of products of another precision, or with a bias, are saved, not computed again.
  bool saves_other_products = false;
};

// All but attention and every second plain product of a block; what only reads a saved result's
// place is left out, as compiled code leaves it out. For models without experts and latent
// attention. Source: pytorch/torchtitan, distributed/activation_checkpoint.py (the operators to
// save, "every second mm"); PyTorch, functorch/_functorch/partitioners.py (must_recompute).
RunsAgainRule runs_again_by_operator(const Transformer& model, const BlockOperators& operators);

// Names of layers that run again where nothing but each block's input is kept: all of the blocks',
// or those up to the last whose input is read (torch.utils.checkpoint, use_reentrant=False: it
// stops when it has what is read again).
std::set<std::string> run_again_in_blocks(const Network& network, bool stops_early);

}  // namespace forescale
