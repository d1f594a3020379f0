// The MPI library's own collectives: sums of FP32, root 0, blocking, as applications call them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "algorithms/collective.hpp"

namespace forescale {

// Why it cannot be called ("needs a multiple of 12 B on 3 ranks"), empty if it can: MPI's blocks
// are of equal size.
std::string library_collective_refusal(CollectiveOp op, std::int64_t bytes, int ranks);

// Both buffers have `bytes`, which mean what they mean in algorithms/collective.hpp;
// reduce-scatter is MPI_Reduce_scatter_block. Call it only where nothing is refused.
void library_collective(CollectiveOp op, std::int64_t bytes, std::byte* sent, std::byte* received,
                        MPI_Comm members);

}  // namespace forescale
