#include "calibrate/bench/collectives/message_counter.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/error.hpp"
#include "calibrate/bench/polled.hpp"

namespace forescale {
namespace {

// What the hooks write to; only the thread that calls MPI does.
struct Counted {
  std::vector<std::int64_t> messages;
  std::vector<std::int64_t> bytes;
#ifdef MPICH_NUMVERSION
  std::vector<const void*> endpoints;  // by rank; null: not known yet
  const void* last_endpoint = nullptr;
#endif
};

Counted& counted() {
  static Counted instance;
  return instance;
}

void count(std::size_t rank, std::size_t bytes) {
  Counted& all = counted();
  if (rank >= all.messages.size()) return;
  ++all.messages[rank];
  all.bytes[rank] += static_cast<std::int64_t>(bytes);
}

}  // namespace

#ifdef MPICH_NUMVERSION
namespace {

// libucp knows endpoints, not ranks.
void count_on(const void* endpoint, std::size_t bytes) {
  Counted& all = counted();
  all.last_endpoint = endpoint;
  const auto found = std::find(all.endpoints.begin(), all.endpoints.end(), endpoint);
  if (found != all.endpoints.end())
    count(static_cast<std::size_t>(found - all.endpoints.begin()), bytes);
}

}  // namespace

// ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h, const void*, size_t, ucp_tag_t, const
// ucp_request_param_t*) of openucx/ucx 1.13, src/ucp/api/ucp.h. Its count is in bytes, as MPICH
// 4.0 sends contiguous data (src/mpid/ch4/netmod/ucx/ucx_send.h).
extern "C" void* ucp_tag_send_nbx(void* endpoint, const void* buffer, std::size_t bytes,
                                  std::uint64_t tag, const void* parameters) {
  using Send = void* (*)(void*, const void*, std::size_t, std::uint64_t, const void*);
  static const Send send = reinterpret_cast<Send>(dlsym(RTLD_NEXT, "ucp_tag_send_nbx"));
  FORESCALE_CHECK(send != nullptr, "libucp has no ucp_tag_send_nbx");
  count_on(endpoint, bytes);
  return send(endpoint, buffer, bytes, tag, parameters);
}

std::string MessageCounter::method() { return "libucp"; }
#else
// Of open-mpi/ompi v4.1, ompi/mca/common/monitoring/common_monitoring.h: `rank` in MPI_COMM_WORLD;
// tags below 0 are those of collectives.
extern "C" void mca_common_monitoring_record_pml(int rank, std::size_t bytes, int /*tag*/) {
  count(static_cast<std::size_t>(rank), bytes);
}

std::string MessageCounter::method() { return "pml/monitoring"; }
#endif

MessageCounter::MessageCounter() {
  constexpr int kTag = 7;
  const int ranks = size_of(MPI_COMM_WORLD);
  const auto count = static_cast<std::size_t>(ranks);
  counted().messages.assign(count, 0);
  counted().bytes.assign(count, 0);
#ifdef MPICH_NUMVERSION
  counted().endpoints.assign(count, nullptr);
#endif
  std::vector<MPI_Request> requests;
  int to_others = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == rank_in(MPI_COMM_WORLD)) continue;
    requests.resize(requests.size() + 2, MPI_REQUEST_NULL);
    MPI_Irecv(nullptr, 0, MPI_BYTE, rank, kTag, MPI_COMM_WORLD, &requests[requests.size() - 2]);
#ifdef MPICH_NUMVERSION
    counted().last_endpoint = nullptr;
#endif
    MPI_Isend(nullptr, 0, MPI_BYTE, rank, kTag, MPI_COMM_WORLD, &requests.back());
#ifdef MPICH_NUMVERSION
    counted().endpoints[static_cast<std::size_t>(rank)] = counted().last_endpoint;
    if (counted().last_endpoint != nullptr) ++counted().messages[static_cast<std::size_t>(rank)];
#endif
    ++to_others;
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  const SentMessages seen = since_reset();
  is_working_ =
      std::accumulate(seen.messages.begin(), seen.messages.end(), std::int64_t{0}) == to_others;
}

void MessageCounter::reset() {
  Counted& all = counted();
  std::fill(all.messages.begin(), all.messages.end(), 0);
  std::fill(all.bytes.begin(), all.bytes.end(), 0);
}

SentMessages MessageCounter::since_reset() {
  return {.messages = counted().messages, .bytes = counted().bytes};
}

}  // namespace forescale
