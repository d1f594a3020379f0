// Actions by time, those of equal time in the order of the calls.
//
// Many are of one instant, as ranks that are alike do the same: those that follow each other in the
// order of the calls, or nearly so, are one chain, and the heap holds chains.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <queue>
#include <vector>

#include "sim/engine/simgrid/shared_capacity.hpp"

namespace forescale {

struct TimedAction {
  std::function<void()> action = {};
  Use* ends = nullptr;  // instead: a use, if it still has this number
  std::uint64_t number = 0;
};

class TimedActions {
 public:
  void add(double time_s, std::function<void()> action) {
    place(time_s, {.action = std::move(action)});
  }
  // Of a use that has its number from next_number().
  void add_end(double time_s, Use& use) { place(time_s, {.ends = &use, .number = use.number}); }
  // Larger than all before, and than 0.
  std::uint64_t next_number() { return ++numbers_; }

  bool empty() const { return queue_.empty(); }
  double first_s() const { return queue_.top().time_s; }
  TimedAction take_first() {
    Chain& chain = chains_[queue_.top().chain];
    const std::uint32_t at = chain.head;
    chain.head = links_[at].next;
    if (chain.head == kNone) {
      chain.number = 0;
      unused_chains_.push_back(queue_.top().chain);
      queue_.pop();
    }
    unused_links_.push_back(at);
    return std::move(links_[at].action);
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr size_t kRecentChains = 16;
  struct Link {
    TimedAction action = {};
    std::uint32_t next = kNone;
  };
  struct Chain {
    std::uint64_t number = 0;  // of its first action; 0: it is over
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };
  struct Entry {
    double time_s = 0;
    std::uint64_t number = 0;
    std::uint32_t chain = 0;
    bool operator>(const Entry& other) const {
      return time_s != other.time_s ? time_s > other.time_s : number > other.number;
    }
  };

  template <class Kind>
  static std::uint32_t slot(std::vector<Kind>& all, std::vector<std::uint32_t>& unused) {
    if (unused.empty()) {
      unused.push_back(static_cast<std::uint32_t>(all.size()));
      all.emplace_back();
    }
    const std::uint32_t at = unused.back();
    unused.pop_back();
    return at;
  }

  void place(double time_s, TimedAction action) {
    const std::uint32_t at = slot(links_, unused_links_);
    links_[at] = {.action = std::move(action), .next = kNone};
    // The newest chain of its time, if it is known and not over: none of that time has begun since.
    Recent& recent = recent_[place_of(time_s)];
    if (recent.number != 0 && recent.time_s == time_s &&
        chains_[recent.chain].number == recent.number) {
      Chain& chain = chains_[recent.chain];
      links_[chain.tail].next = at;
      chain.tail = at;
      return;
    }
    const std::uint32_t chain = slot(chains_, unused_chains_);
    const std::uint64_t number = next_number();
    chains_[chain] = {.number = number, .head = at, .tail = at};
    recent = {.time_s = time_s, .number = number, .chain = chain};
    queue_.push({.time_s = time_s, .number = number, .chain = chain});
  }

  struct Recent {
    double time_s = 0;
    std::uint64_t number = 0;
    std::uint32_t chain = 0;
  };
  static size_t place_of(double time_s) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &time_s, sizeof bits);
    constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;
    constexpr int kTopBits = 60;  // the upper 4: one of kRecentChains
    return static_cast<size_t>((bits * kGolden) >> kTopBits);
  }

  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::vector<Link> links_;
  std::vector<Chain> chains_;
  std::array<Recent, kRecentChains> recent_ = {};
  std::vector<std::uint32_t> unused_links_;
  std::vector<std::uint32_t> unused_chains_;
  std::uint64_t numbers_ = 0;
};

}  // namespace forescale
