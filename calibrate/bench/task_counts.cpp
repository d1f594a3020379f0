// The task "counts": how many messages of how many bytes each rank sends each other one in one call
// of the library's own collectives.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "calibrate/bench/collectives/library_collective.hpp"
#include "calibrate/bench/collectives/message_counter.hpp"
#include "calibrate/bench/polled.hpp"
#include "calibrate/bench/tasks.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct CountCase {
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::int64_t bytes = 0;
};

std::vector<CountCase> read_cases(const JsonInput& in) {
  constexpr std::int64_t kBytesMax = std::int64_t{1} << 30;  // MPI counts in int
  in.allow_only({"format", "task", "wait", "channels", "cases"});
  std::vector<CountCase> cases;
  for (const JsonInput& element : in.at("cases").elements()) {
    element.allow_only({"op", "bytes"});
    const std::string op = element.at("op").string();
    cases.push_back({.op = parse_collective_op(op, in.file()),
                     .bytes = element.at("bytes").integer(0, kBytesMax)});
    const std::string refusal =
        library_collective_refusal(cases.back().op, cases.back().bytes, size_of(MPI_COMM_WORLD));
    if (!refusal.empty()) element.at("bytes").fail(refusal);
  }
  return cases;
}

// By sending rank, on rank 0.
json gathered(const std::vector<std::int64_t>& row) {
  const std::size_t ranks = row.size();
  std::vector<std::int64_t> all(ranks * ranks);
  MPI_Gather(row.data(), static_cast<int>(ranks), MPI_INT64_T, all.data(), static_cast<int>(ranks),
             MPI_INT64_T, 0, MPI_COMM_WORLD);
  json rows = json::array();
  for (std::size_t rank = 0; rank < ranks; ++rank)
    rows.push_back(std::vector<std::int64_t>(all.begin() + static_cast<long>(rank * ranks),
                                             all.begin() + static_cast<long>((rank + 1) * ranks)));
  return rows;
}

json count(const CountCase& one) {
  const auto bytes = static_cast<std::size_t>(one.bytes);
  std::vector<std::byte> sent(bytes + 1);
  std::vector<std::byte> received(bytes + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  MessageCounter::reset();
  library_collective(one.op, one.bytes, sent.data(), received.data(), MPI_COMM_WORLD);
  const SentMessages counted = MessageCounter::since_reset();
  return {{"op", name_of(one.op)},
          {"bytes", one.bytes},
          {"messages", gathered(counted.messages)},
          {"sent_bytes", gathered(counted.bytes)}};
}

}  // namespace

void run_counts(const JsonInput& in, TaskSettings& settings) {
  const std::vector<CountCase> cases = read_cases(in);
  const MessageCounter counter;
  int is_working = counter.is_working() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &is_working, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  json answers = json::array();
  for (const CountCase& one : cases) answers.push_back(count(one));
  if (rank_in(MPI_COMM_WORLD) == 0)
    settings.answer.write({{"format", "forescale-message-counts-1"},
                           {"library", mpi_library()},
                           {"counted_by", is_working != 0 ? MessageCounter::method() : ""},
                           {"cases", answers}});
}

}  // namespace forescale
