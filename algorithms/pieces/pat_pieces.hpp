// Parallel aggregated trees (PAT). What a rank has of the rank that is `distance` away goes along
// one binomial tree a rank, all trees at once: an edge of the tree spans the lowest bit of the
// distance at its far end. A message takes what it moves of several trees, as many as a step of the
// library's queue holds; as many messages are under way side by side as the queue has steps; other
// branches of the trees follow one after the other. Jeaugey, "PAT: a new algorithm for all-gather
// and reduce-scatter operations at scale", arXiv 2506.20252; in what order NCCL walks along the
// trees, and how many it puts together: src/include/collectives.h of NVIDIA/nccl.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/pieces/call_pieces.hpp"

namespace forescale {

// Distances first, first + stride, ... whose edges are crossed together: they all span `hop` ranks.
struct PatRow {
  int first = 0;
  int stride = 0;
  int count = 0;

  int hop() const { return lowest_bit(first); }
  int distance(int index) const { return first + index * stride; }
  PatRow less(int hops) const { return {first - hops, stride, count}; }
};

// How P >= 2 ranks share the work out, by the bytes of a block and of a queue's step (0: no limit).
class PatShape {
 public:
  PatShape(int rank_count, std::int64_t block_bytes, std::int64_t step_bytes);

  // Rows from the trees' roots outwards, for allgather: between the roots, over half of the ranks
  // first; then a branch to its end before the next. Begins with an empty row; false: there are no
  // more.
  bool next_outwards(PatRow& row) const;
  // From their ends inwards, for reduce-scatter: a branch after all that come out of it, roots
  // last.
  bool next_inwards(PatRow& row) const;

  // How many messages a row takes, and the index-th: those of its distances that there are, which
  // may be none. On the way outwards a message is of neighbouring trees, inwards of trees that are
  // as far apart as can be, odd ones first.
  int messages(const PatRow& row) const { return std::max(1, row.count / of_message_); }
  PatRow message_outwards(const PatRow& row, int index) const;
  PatRow message_inwards(const PatRow& row, int index) const;

 private:
  static constexpr int kQueueSteps = 8;  // NCCL_STEPS

  void widen();
  PatRow there(PatRow message) const;
  PatRow between_roots(int apart) const;
  PatRow along_trees(int place) const { return {place, apart_, trees_}; }
  bool is_along_trees(const PatRow& row) const { return row.first < apart_; }

  int rank_count_;
  int apart_;           // ranks from one tree's root to the next one's, a power of two
  int trees_ = 1;       // side by side
  int of_message_ = 1;  // of them, in one message
};

// A call's blocks, and how they are shared out.
class PatCall {
 public:
  // The option chunk_bytes is what a step of the queue holds at most: as in NCCL it is halved, down
  // to 64 KiB, while the vector is less than so many of them (calcCollChunking, src/enqueue.cc).
  PatCall(const CollectiveCall& call, int least_steps);

  const PatShape& shape() const { return shape_; }
  std::int64_t chunks() const { return chunks_of(blocks_.at(0)).count(); }
  // Of the rank's block; empty where it has fewer.
  ByteRange chunk(int rank, std::int64_t index) const {
    const Chunks chunks = chunks_of(blocks_.at(rank % blocks_.count()));
    return index < chunks.count() ? chunks.at(index) : ByteRange{};
  }
  // Whether the message of what `rank` has at these distances goes on behind the index-th.
  bool goes_on(const PatRow& message, int index, int rank, std::int64_t chunk_index) const {
    while (++index < message.count)
      if (chunk(rank + message.distance(index), chunk_index).bytes > 0) return true;
    return false;
  }
  bool even() const { return blocks_.even(); }

 private:
  Chunks chunks_of(ByteRange block) const { return {block, step_bytes_, element_bytes_}; }

  Blocks blocks_;
  std::int64_t step_bytes_;
  std::int64_t element_bytes_;
  PatShape shape_;
};

inline constexpr int kPatGatherSteps = 32;
inline constexpr int kPatScatterSteps = 16;

}  // namespace forescale
