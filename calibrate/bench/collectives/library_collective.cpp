#include "calibrate/bench/collectives/library_collective.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "calibrate/bench/polled.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kElementBytes = sizeof(float);

bool has_blocks(CollectiveOp op) {
  return op == CollectiveOp::kAllGather || op == CollectiveOp::kReduceScatter ||
         op == CollectiveOp::kAllToAll;
}

}  // namespace

std::string library_collective_refusal(CollectiveOp op, std::int64_t bytes, int ranks) {
  if (op == CollectiveOp::kGather || op == CollectiveOp::kScatter)
    return "is not one of the library's collectives that are called here";
  const std::int64_t unit = kElementBytes * (has_blocks(op) ? ranks : 1);
  if (bytes % unit == 0) return "";
  return fmt::format("needs a multiple of {} B on {} ranks", unit, ranks);
}

void library_collective(CollectiveOp op, std::int64_t bytes, std::byte* sent, std::byte* received,
                        MPI_Comm members) {
  const int elements = static_cast<int>(bytes / kElementBytes);
  const int block = elements / size_of(members);
  switch (op) {
    case CollectiveOp::kReduce:
      MPI_Reduce(sent, received, elements, MPI_FLOAT, MPI_SUM, 0, members);
      return;
    case CollectiveOp::kBroadcast:
      MPI_Bcast(received, elements, MPI_FLOAT, 0, members);
      return;
    case CollectiveOp::kAllReduce:
      MPI_Allreduce(sent, received, elements, MPI_FLOAT, MPI_SUM, members);
      return;
    case CollectiveOp::kAllGather:
      MPI_Allgather(sent, block, MPI_FLOAT, received, block, MPI_FLOAT, members);
      return;
    case CollectiveOp::kReduceScatter:
      MPI_Reduce_scatter_block(sent, received, block, MPI_FLOAT, MPI_SUM, members);
      return;
    case CollectiveOp::kAllToAll:
      MPI_Alltoall(sent, block, MPI_FLOAT, received, block, MPI_FLOAT, members);
      return;
    default:
      FORESCALE_CHECK(false, std::string("is refused: ") + name_of(op));
  }
}

}  // namespace forescale
