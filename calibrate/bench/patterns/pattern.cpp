#include "calibrate/bench/patterns/pattern.hpp"

namespace forescale {
namespace {

constexpr int kTag = 1;

std::byte byte_of(std::int64_t position, std::int64_t bytes, int sender) {
  return static_cast<std::byte>(position * 31 + (position >> 8) * 7 + std::int64_t{sender} * 101 +
                                bytes * 3);
}

}  // namespace

void wait_all(std::vector<MPI_Request>& requests, const Patience& patience) {
  patience.wait([&] {
    int done = 0;
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    return done != 0;
  });
}

MPI_Request start_send(const PatternCall& call, int to, std::int64_t bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(call.sent, static_cast<int>(bytes), MPI_BYTE, to, kTag, call.members, &request);
  return request;
}

MPI_Request start_receive(const PatternCall& call, int from, int block, std::int64_t bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(call.received + block * call.bytes, static_cast<int>(bytes), MPI_BYTE, from, kTag,
            call.members, &request);
  return request;
}

void send(const PatternCall& call, int to, std::int64_t bytes) {
  std::vector<MPI_Request> requests = {start_send(call, to, bytes)};
  wait_all(requests, *call.patience);
}

void receive(const PatternCall& call, int from, std::int64_t bytes) {
  std::vector<MPI_Request> requests = {start_receive(call, from, 0, bytes)};
  wait_all(requests, *call.patience);
}

void fill_block(std::byte* block, std::int64_t bytes, int sender) {
  for (std::int64_t i = 0; i < bytes; ++i) block[i] = byte_of(i, bytes, sender);
}

bool is_block_of(const std::byte* block, std::int64_t bytes, int sender) {
  for (std::int64_t i = 0; i < bytes; ++i)
    if (block[i] != byte_of(i, bytes, sender)) return false;
  return true;
}

}  // namespace forescale
