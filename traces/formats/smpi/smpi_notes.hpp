// What an SMPI trace does not say, or says in calls that no program has: what was taken instead.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/formats/smpi/smpi_collectives.hpp"

namespace forescale {

class SmpiNotes {
 public:
  static constexpr std::int64_t kBarrierBytes = 4;  // of the all-reduce that stands for it

  void add_collective(const MatchedCollective& all);
  void add_communicator() { ++communicators_; }
  void add_message_to_itself() { ++to_itself_; }
  void add_sleep() { ++sleeps_; }
  void add_detached_send() { ++detached_; }

  std::vector<std::string> texts() const;

 private:
  std::uint64_t barriers_ = 0;
  std::uint64_t scans_ = 0;
  std::uint64_t as_messages_ = 0;
  std::uint64_t evened_ = 0;
  double imbalance_max_ = 1;
  std::uint64_t communicators_ = 0;
  std::uint64_t to_itself_ = 0;
  std::uint64_t sleeps_ = 0;
  std::uint64_t detached_ = 0;
};

}  // namespace forescale
