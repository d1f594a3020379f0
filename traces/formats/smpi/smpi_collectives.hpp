// One collective of an SMPI trace, as all ranks call it: what forescale has for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/collective.hpp"
#include "traces/formats/smpi/smpi_arguments.hpp"

namespace forescale {

class MatchedCollective {
 public:
  // `calls[rank]`. InputError where the ranks do not call the same.
  MatchedCollective(const SmpiTrace& trace, const std::vector<const SmpiCall*>& calls);

  SmpiAction action() const { return calls_.front()->action; }
  CollectiveOp op() const;  // the nearest: of barriers and scans all-reduce
  bool is_exact() const;    // or nearest only
  int root() const { return said_.front().root; }
  double operations(std::size_t rank) const { return said_[rank].operations; }

  // Parts of different sizes between pairs of ranks, which no collective here has: messages.
  bool is_messages() const { return is_messages_; }
  std::int64_t bytes_between(std::size_t source, std::size_t destination) const;
  // As one collective.
  std::int64_t bytes() const { return bytes_; }
  // The call of one rank, in forescale's sense of `bytes`.
  double bytes_of_call(std::size_t rank) const;
  // Of an allgather or reduce-scatter: its largest part over the mean one.
  double imbalance() const { return imbalance_; }

 private:
  void check_alike() const;
  void match_pairs();
  void match_shares(const std::vector<std::int64_t>& shares);
  std::int64_t sum(const std::vector<std::int64_t>& parts) const;

  const SmpiTrace& trace_;
  const std::vector<const SmpiCall*>& calls_;
  std::vector<SmpiCollective> said_;  // by rank
  bool is_messages_ = false;
  std::int64_t bytes_ = 0;
  double imbalance_ = 1;
};

}  // namespace forescale
