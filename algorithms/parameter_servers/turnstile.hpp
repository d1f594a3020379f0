// One thread of a rank at a time, the most urgent of those that wait first: a CPU that serves
// messages, a bandwidth manager that lets them out.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "algorithms/worker.hpp"

namespace forescale {

class Turnstile {
 public:
  // Returns once this thread may pass. Lower `urgency` values first, then first come.
  void enter(Worker& thread, double urgency);
  // Lets the next one pass.
  void leave(Worker& thread);

 private:
  bool taken_ = false;
  std::uint64_t arrivals_ = 0;
  std::map<std::pair<double, std::uint64_t>, Request> waiting_;
};

}  // namespace forescale
