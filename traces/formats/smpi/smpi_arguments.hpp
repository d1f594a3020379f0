// What the numbers of an SMPI call mean, in bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/formats/smpi/smpi_calls.hpp"

namespace forescale {

struct SmpiMessage {
  int peer = 0;
  int tag = 0;
  std::int64_t bytes = 0;  // of a receive: room for them, 0 where the trace does not say
};
// Of a send or a receive.
SmpiMessage smpi_message(const SmpiTrace& trace, std::size_t rank, const SmpiCall& call);

struct SmpiExchange {
  SmpiMessage sent;
  SmpiMessage received;
};
// Of a sendRecv.
SmpiExchange smpi_exchange(const SmpiTrace& trace, std::size_t rank, const SmpiCall& call);

// What a wait or a test names.
struct SmpiRequestName {
  int source = 0;
  int destination = 0;
  int tag = 0;
  auto operator<=>(const SmpiRequestName&) const = default;
};
SmpiRequestName smpi_request(const SmpiTrace& trace, std::size_t rank, const SmpiCall& call);

struct SmpiCollective {
  int root = 0;
  // Of the vector that all ranks have. Of gathers and scatters, all-to-all and allgather: of the
  // part that this rank gives to another.
  std::int64_t bytes = 0;
  // alltoallv, scatterv: that this rank gives to each; reducescatter: that each ends with.
  std::vector<std::int64_t> parts = {};
  double operations = 0;  // that it carries
};
SmpiCollective smpi_collective(const SmpiTrace& trace, std::size_t rank, const SmpiCall& call);

// Operations of a compute, seconds of a sleep.
double smpi_amount(const SmpiTrace& trace, std::size_t rank, const SmpiCall& call);

}  // namespace forescale
