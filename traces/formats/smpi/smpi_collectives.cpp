#include "traces/formats/smpi/smpi_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "traces/program/action.hpp"

namespace forescale {
namespace {}  // namespace

MatchedCollective::MatchedCollective(const SmpiTrace& trace,
                                     const std::vector<const SmpiCall*>& calls)
    : trace_(trace), calls_(calls) {
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    if (calls[rank]->action != action())
      trace_.fail(rank, *calls[rank],
                  fmt::format("comes where rank 0 calls {} (line {}): these traces know one "
                              "communicator, whose collectives all ranks call in one order",
                              name_of(action()), calls.front()->line));
    said_.push_back(smpi_collective(trace, rank, *calls[rank]));
  }
  check_alike();
  switch (action()) {
    case SmpiAction::kAllToAll:
      bytes_ = sum(std::vector<std::int64_t>(calls.size(), said_.front().bytes));
      break;
    case SmpiAction::kAllToAllV:
    case SmpiAction::kGather:
    case SmpiAction::kGatherV:
    case SmpiAction::kScatter:
    case SmpiAction::kScatterV:
      match_pairs();
      break;
    case SmpiAction::kAllGather:
    case SmpiAction::kAllGatherV: {
      std::vector<std::int64_t> shares;
      for (const SmpiCollective& said : said_) shares.push_back(said.bytes);
      match_shares(shares);
      break;
    }
    case SmpiAction::kReduceScatter:
      match_shares(said_.front().parts);
      break;
    default:
      bytes_ = said_.front().bytes;
  }
}

CollectiveOp MatchedCollective::op() const {
  switch (action()) {
    case SmpiAction::kBroadcast:
      return CollectiveOp::kBroadcast;
    case SmpiAction::kReduce:
      return CollectiveOp::kReduce;
    case SmpiAction::kReduceScatter:
      return CollectiveOp::kReduceScatter;
    case SmpiAction::kAllToAll:
    case SmpiAction::kAllToAllV:
      return CollectiveOp::kAllToAll;
    case SmpiAction::kGather:
    case SmpiAction::kGatherV:
      return CollectiveOp::kGather;
    case SmpiAction::kScatter:
    case SmpiAction::kScatterV:
      return CollectiveOp::kScatter;
    case SmpiAction::kAllGather:
    case SmpiAction::kAllGatherV:
      return CollectiveOp::kAllGather;
    default:
      return CollectiveOp::kAllReduce;
  }
}

bool MatchedCollective::is_exact() const {
  return action() != SmpiAction::kBarrier && action() != SmpiAction::kScan &&
         action() != SmpiAction::kExscan;
}

std::int64_t MatchedCollective::bytes_between(std::size_t source, std::size_t destination) const {
  const auto root = static_cast<std::size_t>(this->root());
  switch (action()) {
    case SmpiAction::kAllToAllV:
      return said_[source].parts[destination];
    case SmpiAction::kGather:
    case SmpiAction::kGatherV:
      return destination == root ? said_[source].bytes : 0;
    case SmpiAction::kScatter:
      return source == root ? said_[source].bytes : 0;
    case SmpiAction::kScatterV:
      return source == root ? said_[source].parts[destination] : 0;
    default:
      FORESCALE_CHECK(false, "moves nothing between pairs");
  }
}

double MatchedCollective::bytes_of_call(std::size_t rank) const {
  if (!is_messages_) return static_cast<double>(bytes_);
  const auto root = static_cast<std::size_t>(this->root());
  const bool gathers = op() == CollectiveOp::kGather;
  const std::size_t from = op() == CollectiveOp::kAllToAll ? rank : root;
  double total = 0;
  for (std::size_t other = 0; other < said_.size(); ++other)
    total += static_cast<double>(gathers ? bytes_between(other, root) : bytes_between(from, other));
  return total;
}

void MatchedCollective::check_alike() const {
  const bool has_parts = action() == SmpiAction::kReduceScatter;
  const bool has_one_size = action() == SmpiAction::kBroadcast || action() == SmpiAction::kReduce ||
                            action() == SmpiAction::kAllToAll || op() == CollectiveOp::kAllReduce;
  for (std::size_t rank = 1; rank < said_.size(); ++rank) {
    const SmpiCollective& first = said_.front();
    const SmpiCollective& here = said_[rank];
    const auto differs = [&](const std::string& what) {
      trace_.fail(rank, *calls_[rank],
                  fmt::format("has {} than rank 0's (line {})", what, calls_.front()->line));
    };
    if (here.root != first.root) differs("another root");
    if (has_parts && here.parts != first.parts) differs("other counts");
    if (has_one_size && here.bytes != first.bytes)
      differs(fmt::format("{} bytes, which is another size", here.bytes));
  }
}

// All that one rank gives to another is of one size, or this is messages.
void MatchedCollective::match_pairs() {
  const std::size_t ranks = said_.size();
  const auto root = static_cast<std::size_t>(this->root());
  std::int64_t part = ranks == 1 ? bytes_between(0, 0) : -1;
  const auto look = [&](std::size_t source, std::size_t destination) {
    if (source == destination) return;
    const std::int64_t bytes = bytes_between(source, destination);
    if (part < 0) part = bytes;
    is_messages_ = is_messages_ || bytes != part;
  };
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (op() == CollectiveOp::kGather) look(rank, root);
    if (op() == CollectiveOp::kScatter) look(root, rank);
    if (op() != CollectiveOp::kAllToAll) continue;
    for (std::size_t other = 0; other < ranks; ++other) look(rank, other);
  }
  if (!is_messages_) bytes_ = sum(std::vector<std::int64_t>(ranks, part));
}

void MatchedCollective::match_shares(const std::vector<std::int64_t>& shares) {
  bytes_ = sum(shares);
  const std::int64_t largest = *std::max_element(shares.begin(), shares.end());
  if (bytes_ > 0)
    imbalance_ = static_cast<double>(largest) * static_cast<double>(shares.size()) /
                 static_cast<double>(bytes_);
}

std::int64_t MatchedCollective::sum(const std::vector<std::int64_t>& parts) const {
  const double total = std::accumulate(parts.begin(), parts.end(), 0.0);
  if (total > kProgramBytesMax)
    trace_.fail(0, *calls_.front(),
                fmt::format("moves {} bytes in all, which are too many", total));
  return static_cast<std::int64_t>(total);
}

}  // namespace forescale
