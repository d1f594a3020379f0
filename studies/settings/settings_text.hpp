// Pieces that emitters share: comments, and regions made to cover every size and rank count.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "studies/settings/settings.hpp"

namespace forescale {

// The provenance, a line each: "# platform: kesch".
std::string comment_lines(const TunedSettings& settings);

std::vector<CollectiveOp> tuned_ops(const TunedSettings& settings);
std::vector<int> tuned_rank_counts(const TunedSettings& settings, CollectiveOp op);

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

// Sizes that are served alike. The spans of an operation and a rank count follow each other from 0
// to the largest 64-bit integer.
struct SizeSpan {
  std::int64_t from_bytes = 0;
  std::int64_t to_bytes = 0;                    // inclusive
  const LibraryAlgorithm* algorithm = nullptr;  // of the settings; null: the library's own choice
};
// What is not in a region, and what the region's algorithm is too small for, is the library's own
// choice.
std::vector<SizeSpan> size_spans(const TunedSettings& settings, CollectiveOp op, int ranks);

// Rank counts that are served alike, from `from_ranks` to `to_ranks` inclusive.
struct RankSpan {
  int from_ranks = 0;
  int to_ranks = 0;
  std::vector<SizeSpan> sizes;
};
// A tuned rank count serves those up to the next one too, with algorithms that run on any number
// of ranks; the library chooses below the least and above the largest.
std::vector<RankSpan> rank_spans(const TunedSettings& settings, CollectiveOp op);

// For libraries that cannot be told to choose for themselves: what has no algorithm takes that of
// the span after it, at the end of the one before. Empty when no span has any.
std::vector<SizeSpan> without_gaps(std::vector<SizeSpan> spans);

}  // namespace forescale
