// What plans are made of: operations, a group of ranks, a vector cut into blocks or into chunks.
// Trivially copyable values, because they live in the frames of coroutines.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "algorithms/plan.hpp"

namespace forescale {

inline Op transfer_op(OpKind kind, int peer, ByteRange range, int after, int write_after) {
  Op op;
  op.kind = kind;
  op.peer = peer;
  op.offset = range.offset;
  op.bytes = range.bytes;
  op.after = after;
  op.write_after = write_after;
  return op;
}
inline Op send(int peer, ByteRange range, int after = 0) {
  return transfer_op(OpKind::kSend, peer, range, after, 0);
}
inline Op recv(int peer, ByteRange range, int after = 0, int write_after = 0) {
  return transfer_op(OpKind::kRecv, peer, range, after, write_after);
}
inline Op recv_reduce(int peer, ByteRange range, int after = 0, int write_after = 0) {
  return transfer_op(OpKind::kRecvReduce, peer, range, after, write_after);
}
inline Op copy(ByteRange to, std::int64_t from) {
  Op op = transfer_op(OpKind::kCopy, -1, to, 0, 0);
  op.copy_from = from;
  return op;
}

// Every `stride`-th rank from `first` on, counted from `root` and around the end: member 0 is the
// root or the leader. Needs first + (count - 1) * stride < rank_count.
struct Group {
  int rank_count = 1;  // of the whole collective
  int root = 0;
  int first = 0;
  int stride = 1;
  int count = 1;

  int rank_of(int member) const {
    const int rank = root + first + member * stride;
    return rank < rank_count ? rank : rank - rank_count;
  }
};

// All ranks, member 0 being the root.
inline Group whole_group(int rank_count, int root) {
  return {.rank_count = rank_count, .root = root, .first = 0, .stride = 1, .count = rank_count};
}
inline int member_of(int rank, int root, int rank_count) {
  return rank < root ? rank - root + rank_count : rank - root;
}

// A range cut into `count` blocks of whole elements, the first ones an element larger where it does
// not divide; when it is no whole number of elements, the last element is cut short.
class Blocks {
 public:
  Blocks(ByteRange whole, std::int64_t count, std::int64_t element_bytes)
      : whole_(whole), count_(count), element_bytes_(element_bytes) {
    const std::int64_t elements = (whole.bytes + element_bytes - 1) / element_bytes;
    common_bytes_ = elements / count * element_bytes;
    larger_ = elements % count;
    nonempty_ = std::min(count, elements);
  }

  std::int64_t count() const { return count_; }
  std::int64_t nonempty() const { return nonempty_; }
  std::int64_t bytes() const { return whole_.bytes; }
  std::int64_t largest_bytes() const { return at(0).bytes; }
  bool even() const { return at(0).bytes == at(count_ - 1).bytes; }

  ByteRange at(std::int64_t index) const { return span(index, 1); }
  // Block `index - 1` given block `index` > 0: half the work of at(), for inner loops.
  ByteRange before(ByteRange block, std::int64_t index) const {
    const std::int64_t begin = whole_.offset + start(index - 1);
    return {begin, block.offset - begin};
  }
  // Blocks [first, first + length).
  ByteRange span(std::int64_t first, std::int64_t length) const {
    const std::int64_t begin = start(first);
    return {whole_.offset + begin, start(first + length) - begin};
  }
  // Blocks first, first + 1, ... around the end; the second part is empty unless they wrap.
  std::array<ByteRange, 2> cyclic_span(std::int64_t first, std::int64_t length) const {
    first %= count_;
    const std::int64_t before_end = std::min(length, count_ - first);
    return {span(first, before_end), span(0, length - before_end)};
  }

 private:
  std::int64_t start(std::int64_t index) const {
    return std::min(whole_.bytes,
                    index * common_bytes_ + std::min(index, larger_) * element_bytes_);
  }

  ByteRange whole_;
  std::int64_t count_;
  std::int64_t element_bytes_;
  std::int64_t common_bytes_ = 0;
  std::int64_t larger_ = 0;
  std::int64_t nonempty_ = 0;
};

// A range cut into chunks, the last one smaller. No chunks in an empty range.
class Chunks {
 public:
  // chunk_bytes 0: one chunk; else it is rounded down to whole elements, at least one.
  Chunks(ByteRange whole, std::int64_t chunk_bytes, std::int64_t element_bytes) : whole_(whole) {
    chunk_bytes_ = chunk_bytes == 0
                       ? std::max<std::int64_t>(whole.bytes, 1)
                       : std::max(chunk_bytes / element_bytes * element_bytes, element_bytes);
    count_ = (whole.bytes + chunk_bytes_ - 1) / chunk_bytes_;
  }

  std::int64_t count() const { return count_; }
  ByteRange whole() const { return whole_; }
  ByteRange at(std::int64_t index) const {
    const std::int64_t begin = index * chunk_bytes_;
    return {whole_.offset + begin, std::min(chunk_bytes_, whole_.bytes - begin)};
  }

 private:
  ByteRange whole_;
  std::int64_t chunk_bytes_ = 1;
  std::int64_t count_ = 0;
};

inline int ceil_log2(int count) { return std::bit_width(static_cast<unsigned>(count - 1)); }
inline int lowest_bit(int number) { return number & -number; }
// The largest power of two below `count` (0 below 2): the root's first child in a binomial tree.
inline int highest_child(int count) {
  return count < 2 ? 0 : static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1)));
}

}  // namespace forescale
