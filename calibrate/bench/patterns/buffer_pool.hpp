// Memory for messages, kept for the next one of about the same size: fresh memory would cost a page
// fault every 4 KiB. Zeros at first, all pages touched.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace forescale {

struct PooledBuffer {
  std::byte* data() const { return memory.get(); }
  std::unique_ptr<std::byte[]> memory;
  std::size_t capacity = 0;  // a power of two
};

class BufferPool {
 public:
  PooledBuffer take(std::int64_t bytes) {
    constexpr std::size_t kLeast = 64;
    const std::size_t capacity = std::bit_ceil(std::max(kLeast, static_cast<std::size_t>(bytes)));
    std::vector<PooledBuffer>& free = free_[capacity];
    if (free.empty()) {
      PooledBuffer fresh{.memory = std::make_unique<std::byte[]>(capacity), .capacity = capacity};
      std::fill_n(static_cast<volatile std::byte*>(fresh.data()), capacity, std::byte{0});
      return fresh;
    }
    PooledBuffer buffer = std::move(free.back());
    free.pop_back();
    return buffer;
  }
  void give_back(PooledBuffer buffer) {
    if (buffer.memory) free_[buffer.capacity].push_back(std::move(buffer));
  }

 private:
  std::map<std::size_t, std::vector<PooledBuffer>> free_;
};

}  // namespace forescale
