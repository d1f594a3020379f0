#include "studies/settings/settings_proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

namespace forescale {
namespace {

std::size_t place(int ranks, int from, int to) {
  return static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks) +
         static_cast<std::size_t>(to);
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

std::vector<std::vector<std::int64_t>> read_matrix(const JsonInput& in) {
  std::vector<std::vector<std::int64_t>> rows;
  for (const JsonInput& row : in.elements()) {
    rows.emplace_back();
    for (const JsonInput& cell : row.elements()) rows.back().push_back(cell.integer(0));
  }
  for (const auto& row : rows)
    if (row.size() != rows.size()) in.fail("must have as many columns as rows");
  return rows;
}

PairCounts read_pair_counts(const JsonInput& in) {
  const auto messages = read_matrix(in.at("messages"));
  const auto bytes = read_matrix(in.at("sent_bytes"));
  if (bytes.size() != messages.size()) in.fail("must have as many \"sent_bytes\" as \"messages\"");
  const auto ranks = static_cast<int>(messages.size());
  PairCounts counts(ranks);
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      counts.add(from, to, messages[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)],
                 bytes[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]);
  return counts;
}

}  // namespace

void PairCounts::add(int from, int to, std::int64_t message_count, std::int64_t byte_count) {
  if (from == to) return;
  messages[place(ranks, from, to)] += message_count;
  bytes[place(ranks, from, to)] += byte_count;
}

std::string PairCounts::text() const {
  const auto pairs =
      std::count_if(messages.begin(), messages.end(), [](std::int64_t count) { return count > 0; });
  return fmt::format("{} messages, {} in all, between {} pairs", sum(messages),
                     to_text(Bytes{sum(bytes)}), pairs);
}

PairCounts planned_counts(const LibraryAlgorithm& algorithm, int ranks, std::int64_t bytes) {
  const CollectiveQuestion question{.plan = algorithm.plan, .ranks = ranks, .bytes = bytes};
  const int surplus = ranks - static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const auto in_library = [&](int rank) {
    return algorithm.mirrors_folded && rank < 2 * surplus ? rank ^ 1 : rank;
  };
  PairCounts counts(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    OpStream stream = message_plan(*algorithm.plan.collective, question.call(), rank);
    while (stream.next())
      if (stream.op().kind == OpKind::kSend)
        counts.add(in_library(rank), in_library(stream.op().peer), 1, stream.op().bytes);
  }
  return counts;
}

bool is_same_traffic(const PairCounts& a, const PairCounts& b) {
  constexpr std::int64_t kFloatBytes = 4;
  if (a.ranks != b.ranks || a.messages != b.messages) return false;
  for (std::size_t i = 0; i < a.bytes.size(); ++i)
    if (std::abs(a.bytes[i] - b.bytes[i]) > kFloatBytes * a.ranks * a.messages[i]) return false;
  return true;
}

CountedMessages read_counted_messages(const std::string& answer, const std::string& source,
                                      std::size_t cases) {
  const JsonInput in = JsonInput::from_text(answer, source);
  in.at("format").one_of({"forescale-message-counts-1"});
  CountedMessages counted{.library = in.at("library").string(),
                          .counted_by = in.at("counted_by").string(),
                          .cases = {}};
  for (const JsonInput& one : in.at("cases").elements())
    counted.cases.push_back(read_pair_counts(one));
  if (counted.cases.size() != cases)
    in.at("cases").fail(fmt::format("must have the {} cases that were asked", cases));
  return counted;
}

}  // namespace forescale
