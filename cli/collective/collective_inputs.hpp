// Options that name a collective on a platform, shared by `collective` and `crossover`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/collective.hpp"
#include "cli/command_line.hpp"
#include "models/stack.hpp"
#include "sim/run/session.hpp"
#include "topologies/platform.hpp"

namespace forescale {

struct AlgorithmText {
  std::string algorithm;  // empty: the stack's choice
  std::string chunk_bytes;
  std::string chain_size;
  std::string levels;
};
void add_algorithm_options(Subcommand command, AlgorithmText& text);
// Nothing when the stack shall choose; InputError when options are given without an algorithm, or
// one that the algorithm does not read.
std::optional<AlgorithmChoice> parse_choice(CollectiveOp op, const AlgorithmText& text);

// The algorithm named, or the one of the stack's rule, and what that rule says of a call.
struct ResolvedChoice {
  const Collective* collective = nullptr;
  CollectiveCall call;
  bool through_host = false;
  int protocol = 0;            // of its messages, by the algorithm's rule
  bool is_in_parts = false;    // side by side: the simulator's
  double call_overhead_s = 0;  // of the stack, before any rank's part begins
};
ResolvedChoice resolve(const std::optional<AlgorithmChoice>& choice, const Stack& stack,
                       CollectiveOp op, int ranks, std::int64_t bytes, int root);

}  // namespace forescale
