#include "traces/formats/smpi/smpi_arguments.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "traces/program/action.hpp"

namespace forescale {
namespace {

// By id (src/smpi/mpi/smpi_datatype.cpp), sizes of MPI_Type_size in SimGrid 3.32 on 64-bit Linux.
// 51 and 52 are MPI_UB and MPI_LB.
constexpr std::array<int, 54> kTypeBytes{
    8,  4, 1, 2, 8,  4,  1, 8, 1, 1,  2,  4, 8, 8, 16, 4, 1,  1,  2, 4, 8, 1, 2,  4,  8, 8, 16,
    32, 8, 8, 8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 0, 0, 1};

class Arguments {
 public:
  Arguments(const SmpiTrace& trace, std::size_t rank, const SmpiCall& call)
      : trace_(trace), rank_(rank), call_(call) {}

  std::size_t count() const { return call_.count; }
  std::size_t rank_count() const { return trace_.ranks.size(); }
  [[noreturn]] void fail(const std::string& constraint) const {
    trace_.fail(rank_, call_, constraint);
  }
  void need(std::size_t count) const {
    if (call_.count < count)
      fail(fmt::format("must have at least {} numbers with {} ranks, not {}", count, rank_count(),
                       call_.count));
  }

  double amount(std::size_t number) const {
    const double value = trace_.ranks[rank_].argument(call_, number);
    if (value < 0) fail(fmt::format("number {} must be at least 0, not {}", number + 1, value));
    return value;
  }
  int integer(std::size_t number, int least, int most) const {
    const double value = trace_.ranks[rank_].argument(call_, number);
    if (value != std::floor(value) || value < least || value > most)
      fail(fmt::format("number {} must be a whole number from {} to {}, not {}", number + 1, least,
                       most, value));
    return static_cast<int>(value);
  }
  int peer(std::size_t number) const {
    // SMPI's MPI_ANY_SOURCE, and what others use.
    const double value = trace_.ranks[rank_].argument(call_, number);
    if (value == -555 || value == -1)
      fail("takes a message from any rank: which one it took is not in the trace");
    return integer(number, 0, static_cast<int>(rank_count()) - 1);
  }
  int tag(std::size_t number) const {
    const double value = trace_.ranks[rank_].argument(call_, number);
    if (value == -444 || value == -1)
      fail("takes a message with any tag: which one it took is not in the trace");
    return integer(number, 0, std::numeric_limits<int>::max());
  }
  int root(std::size_t number) const {
    return number < count() ? integer(number, 0, static_cast<int>(rank_count()) - 1) : 0;
  }

  int default_type() const { return trace_.ranks[rank_].default_type_bytes; }
  int type(std::size_t number) const {
    if (number >= count()) return default_type();
    const auto id =
        static_cast<std::size_t>(integer(number, 0, static_cast<int>(kTypeBytes.size()) - 1));
    if (kTypeBytes[id] == 0) fail(fmt::format("number {} is no datatype of data", number + 1));
    return kTypeBytes[id];
  }
  // As SMPI: only where the receiver's datatype is there too.
  int first_of_two_types(std::size_t number) const {
    return number + 1 < count() ? type(number) : default_type();
  }

  // Counts are whole in MPI; SMPI cuts them off.
  std::int64_t bytes(std::size_t number, int type_bytes) const {
    const double value = std::floor(amount(number)) * type_bytes;
    if (value > kProgramBytesMax)
      fail(fmt::format("number {} means {} bytes, which are too many", number + 1, value));
    return static_cast<std::int64_t>(value);
  }
  // Of all ranks.
  std::vector<std::int64_t> parts(std::size_t begin, int type_bytes) const {
    std::vector<std::int64_t> list;
    double total = 0;
    for (std::size_t i = 0; i < rank_count(); ++i) {
      list.push_back(bytes(begin + i, type_bytes));
      total += static_cast<double>(list.back());
    }
    if (total > kProgramBytesMax) fail(fmt::format("moves {} bytes, which are too many", total));
    return list;
  }

 private:
  const SmpiTrace& trace_;
  std::size_t rank_;
  const SmpiCall& call_;
};

// Where it has one, the datatype of an allgatherv is behind the counts: alone, with the receiver's,
// or before displacements.
int type_of_allgatherv(const Arguments& in) {
  const std::size_t behind = in.count() - in.rank_count() - 1;
  const bool only_displacements = behind > 2 && behind <= in.rank_count();
  return only_displacements ? in.default_type() : in.type(in.rank_count() + 1);
}

}  // namespace

SmpiMessage smpi_message(const SmpiTrace& trace, std::size_t rank, const SmpiCall& call) {
  const Arguments in(trace, rank, call);
  SmpiMessage message{.peer = in.peer(0), .tag = in.tag(1)};
  const bool receives = call.action == SmpiAction::kReceive || call.action == SmpiAction::kIreceive;
  // A receiver that does not know how much will come says 0 or -1.
  if (!receives || trace.ranks[rank].argument(call, 2) > 0) message.bytes = in.bytes(2, in.type(3));
  return message;
}

SmpiExchange smpi_exchange(const SmpiTrace& trace, std::size_t rank, const SmpiCall& call) {
  const Arguments in(trace, rank, call);
  return {.sent = {.peer = in.peer(1), .tag = 0, .bytes = in.bytes(0, in.type(4))},
          .received = {.peer = in.peer(3), .tag = 0, .bytes = in.bytes(2, in.type(5))}};
}

SmpiRequestName smpi_request(const SmpiTrace& trace, std::size_t rank, const SmpiCall& call) {
  const Arguments in(trace, rank, call);
  return {.source = in.peer(0), .destination = in.peer(1), .tag = in.tag(2)};
}

SmpiCollective smpi_collective(const SmpiTrace& trace, std::size_t rank, const SmpiCall& call) {
  const Arguments in(trace, rank, call);
  const std::size_t ranks = in.rank_count();
  switch (call.action) {
    case SmpiAction::kBroadcast:
      return {.root = in.root(1), .bytes = in.bytes(0, in.type(2))};
    case SmpiAction::kReduce:
      return {.root = in.root(2),
              .bytes = in.bytes(0, in.type(3)),
              .parts = {},
              .operations = in.amount(1)};
    case SmpiAction::kAllReduce:
    case SmpiAction::kScan:
    case SmpiAction::kExscan:
      return {.bytes = in.bytes(0, in.type(2)), .parts = {}, .operations = in.amount(1)};
    case SmpiAction::kReduceScatter:
      in.need(ranks + 1);
      return {.bytes = 0, .parts = in.parts(0, in.type(ranks + 1)), .operations = in.amount(ranks)};
    case SmpiAction::kAllToAll:
    case SmpiAction::kAllGather:
      return {.bytes = in.bytes(0, in.type(2))};
    case SmpiAction::kAllToAllV:
      in.need(2 * ranks + 2);
      return {.bytes = 0, .parts = in.parts(1, in.first_of_two_types(2 * ranks + 2))};
    case SmpiAction::kGather:
    case SmpiAction::kScatter:
      return {.root = in.root(2), .bytes = in.bytes(0, in.type(3))};
    case SmpiAction::kGatherV:
      in.need(ranks + 1);
      return {.root = in.root(ranks + 1), .bytes = in.bytes(0, in.type(ranks + 2))};
    case SmpiAction::kScatterV:
      in.need(ranks + 1);
      return {.root = in.root(ranks + 1),
              .bytes = 0,
              .parts = in.parts(0, in.first_of_two_types(ranks + 2))};
    case SmpiAction::kAllGatherV:
      in.need(ranks + 1);
      return {.bytes = in.bytes(0, type_of_allgatherv(in))};
    default:  // a barrier has no numbers
      return {};
  }
}

double smpi_amount(const SmpiTrace& trace, std::size_t rank, const SmpiCall& call) {
  return Arguments(trace, rank, call).amount(0);
}

}  // namespace forescale
