// NCCL's environment variables as options of a stack: what they leave it of its alternatives, and
// the sizes that they set. Source: NVIDIA NCCL v2.20, src/graph/tuning.cc (ncclTopoTuneModel) and
// src/init.cc; the names of algorithms are those of its log.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/options_text.hpp"
#include "models/stack.hpp"

namespace forescale {

inline constexpr const char* kNcclCollnet = "NCCL_COLLNET_ENABLE";  // what alternatives can need

std::vector<std::string> nccl_variables();  // that are known here
std::set<std::string> nccl_lists();         // those of them whose value is a list

// NCCL_ALGO and NCCL_PROTO ("Ring,Tree", "^LL128": all but that), NCCL_NVLS_ENABLE (0: no NVLS),
// NCCL_BUFFSIZE (bytes; a chunk of the simple protocol's trees and chains is an eighth),
// NCCL_COLLNET_ENABLE (1: the network's switches add; NVLS must be off then, as what both together
// do is not known), NCCL_TUNER_PLUGIN (none: no tuner, which NCCL_ALGO and NCCL_PROTO switch off
// too). Of other operations than all-reduce rings stay, whatever NCCL_ALGO says; an operation of
// which the stack has nothing to choose from keeps its own rules. InputError for a value that NCCL
// does not know, one that leaves all-reduce nothing, and beside "take".
void apply_nccl_environment(Stack& stack, const OptionsText& options);

}  // namespace forescale
