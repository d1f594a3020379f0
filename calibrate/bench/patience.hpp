// How a rank waits: spinning, or with naps between polls so that many ranks share few cores. All
// benchmarks, the executor and the worker wait in this one way, so that what was calibrated is what
// is executed.
#pragma once

#include <functional>

namespace forescale {

class Patience {
 public:
  // 0: spin. Sets the thread's timer slack to a microsecond.
  explicit Patience(double nap_s);
  // Calls `poll` until it returns true.
  void wait(const std::function<bool()>& poll) const;
  // Sleeps until MPI_Wtime-like `clock_s()` reaches it, without MPI calls.
  void sleep_until(double when_s) const;
  double nap_s() const { return nap_s_; }

 private:
  double nap_s_ = 0;
};

// Seconds of this host's monotonic clock.
double clock_s();

}  // namespace forescale
