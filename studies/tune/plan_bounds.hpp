// What a search knows of the plans of one call before it simulates them: lower bounds of their
// times, cheap ones first, and which of them are one plan under several names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "sim/resolved_call.hpp"
#include "studies/tune/tune_collective.hpp"

namespace forescale {

class PlanBounds {
 public:
  // Of the question's operation on the platform's first slots; the machine outlives this.
  PlanBounds(const TuneQuestion& question, const QuestionMachine& machine);

  // Seconds that the bytes need which must move at least, and those that this plan moves, all in
  // flight together. The latter are the same however they are cut into chunks: counted once.
  double of_bytes(const PlanChoice& plan);
  // That a port of the root needs for its messages, or one of the rank that would be the busiest if
  // all went in one chunk: no more than of_messages() says, for little of what that costs. 0 where
  // the cost engine does not know the call.
  double of_ports(const PlanChoice& plan);
  // Of the plan's messages, each with its links to itself; walked no further than `limit_s`, where
  // what is returned is beyond it. 0 where the cost engine does not know the call.
  double of_messages(const PlanChoice& plan, double limit_s) const;

  // The same for plans whose ranks do the same, in the same order and in the same way.
  std::uint64_t fingerprint(const PlanChoice& plan) const;

 private:
  ResolvedCall resolved(const PlanChoice& plan) const;

  const TuneQuestion question_;
  const Lanes lanes_;
  const SharedGroup group_;
  std::map<std::pair<BufferPlace, std::int64_t>, double> least_s_;  // by place and chunk_bytes
  // By the text of the plan in one chunk.
  std::map<std::string, double> moved_s_;
  std::map<std::string, int> busiest_;  // a rank
};

}  // namespace forescale
