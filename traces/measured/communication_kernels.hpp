// Kernels of libraries beside NCCL that move data between GPUs, by their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "algorithms/collective.hpp"

namespace forescale {

struct CommunicationKernel {
  std::string name;                // "dispatch": how --size names it
  std::optional<CollectiveOp> op;  // that it is; nothing: it keeps its measured time
  std::int64_t bytes = -1;         // where it is always the same; -1: it is not
  std::string library;
};

// Nothing for a kernel that only computes.
const CommunicationKernel* communication_kernel(std::string_view kernel);

// Whether an operator of the host is named as one that launches such a kernel, so that its first
// operand is what is moved.
bool names_communication(std::string_view host_operator);

}  // namespace forescale
