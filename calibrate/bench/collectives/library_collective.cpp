#include "calibrate/bench/collectives/library_collective.hpp"

#include <fmt/format.h>

#include <map>

#include "algorithms/operation.hpp"
#include "base/error.hpp"
#include "calibrate/bench/polled.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kElementBytes = sizeof(float);

struct Call {
  std::byte* sent = nullptr;
  std::byte* received = nullptr;
  int elements = 0;
  int block = 0;  // elements of one rank's part, which some calls count
  MPI_Comm members = MPI_COMM_NULL;
};

using LibraryCall = void (*)(const Call&);

const std::map<CollectiveOp, LibraryCall>& calls() {
  static const std::map<CollectiveOp, LibraryCall> known = {
      {CollectiveOp::kReduce,
       [](const Call& call) {
         MPI_Reduce(call.sent, call.received, call.elements, MPI_FLOAT, MPI_SUM, 0, call.members);
       }},
      {CollectiveOp::kBroadcast,
       [](const Call& call) {
         MPI_Bcast(call.received, call.elements, MPI_FLOAT, 0, call.members);
       }},
      {CollectiveOp::kAllReduce,
       [](const Call& call) {
         MPI_Allreduce(call.sent, call.received, call.elements, MPI_FLOAT, MPI_SUM, call.members);
       }},
      {CollectiveOp::kAllGather,
       [](const Call& call) {
         MPI_Allgather(call.sent, call.block, MPI_FLOAT, call.received, call.block, MPI_FLOAT,
                       call.members);
       }},
      {CollectiveOp::kReduceScatter,
       [](const Call& call) {
         MPI_Reduce_scatter_block(call.sent, call.received, call.block, MPI_FLOAT, MPI_SUM,
                                  call.members);
       }},
      {CollectiveOp::kAllToAll,
       [](const Call& call) {
         MPI_Alltoall(call.sent, call.block, MPI_FLOAT, call.received, call.block, MPI_FLOAT,
                      call.members);
       }},
      {CollectiveOp::kShift, [](const Call& call) {
         int rank = 0;
         MPI_Comm_rank(call.members, &rank);
         const int ranks = size_of(call.members);
         MPI_Sendrecv(call.sent, call.elements, MPI_FLOAT, (rank + 1) % ranks, 0, call.received,
                      call.elements, MPI_FLOAT, (rank + ranks - 1) % ranks, 0, call.members,
                      MPI_STATUS_IGNORE);
       }}};
  return known;
}

}  // namespace

std::string library_collective_refusal(CollectiveOp op, std::int64_t bytes, int ranks) {
  if (!calls().contains(op)) return "is not one of the library's collectives that are called here";
  const std::int64_t unit = kElementBytes * (operation(op).has_blocks() ? ranks : 1);
  if (bytes % unit == 0) return "";
  return fmt::format("needs a multiple of {} B on {} ranks", unit, ranks);
}

void library_collective(CollectiveOp op, std::int64_t bytes, std::byte* sent, std::byte* received,
                        MPI_Comm members) {
  FORESCALE_CHECK(calls().contains(op), std::string("is refused: ") + name_of(op));
  const int elements = static_cast<int>(bytes / kElementBytes);
  calls().at(op)({.sent = sent,
                  .received = received,
                  .elements = elements,
                  .block = elements / size_of(members),
                  .members = members});
}

}  // namespace forescale
