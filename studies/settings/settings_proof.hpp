// Whether a rule acted: messages and bytes by pair of ranks that a library sent, against those of
// the plan that does the same.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "studies/settings/settings.hpp"

namespace forescale {

// Both by sender * ranks + receiver; what a rank sends itself is left out.
struct PairCounts {
  int ranks = 0;
  std::vector<std::int64_t> messages;
  std::vector<std::int64_t> bytes;

  explicit PairCounts(int rank_count)
      : ranks(rank_count),
        messages(static_cast<std::size_t>(rank_count) * static_cast<std::size_t>(rank_count)),
        bytes(messages.size()) {}
  void add(int from, int to, std::int64_t message_count, std::int64_t byte_count);
  // "24 messages of 1.5 MiB in all between 8 pairs".
  std::string text() const;
};

PairCounts planned_counts(const LibraryAlgorithm& algorithm, int ranks, std::int64_t bytes);

// The same number of messages between every pair. Bytes of a message may differ by one element of
// 4 B a rank: blocks of a vector that cannot be cut evenly are cut in more than one way.
bool is_same_traffic(const PairCounts& a, const PairCounts& b);

// What the MPI program's task "counts" (calibrate/bench/request.hpp) answers.
struct CountedMessages {
  std::string library;     // "Open MPI 4.1.4"
  std::string counted_by;  // empty: nothing can be counted
  std::vector<PairCounts> cases;
};
// InputError naming `source` for what is no such answer, or not of `cases` cases.
CountedMessages read_counted_messages(const std::string& answer, const std::string& source,
                                      std::size_t cases);

}  // namespace forescale
