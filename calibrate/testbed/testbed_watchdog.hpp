// A process beside this one that takes a testbed down when this one ends, in whatever way.
#pragma once

#include <sys/types.h>

#include <string>

#include "calibrate/testbed/testbed_process.hpp"

namespace forescale {

class TestbedWatchdog {
 public:
  // Watches over the testbed `name` if this process owns it (its state file says so). From now on
  // SIGINT, SIGTERM and SIGHUP end this process only after the testbed is gone, unless the program
  // handles or ignores them itself.
  explicit TestbedWatchdog(const std::string& name);
  // Stops watching; the testbed stays.
  ~TestbedWatchdog();
  TestbedWatchdog(const TestbedWatchdog&) = delete;
  TestbedWatchdog& operator=(const TestbedWatchdog&) = delete;

  const ProcessIdentity& owner() const { return owner_; }

 private:
  ProcessIdentity owner_;
  pid_t pid_ = -1;
};

}  // namespace forescale
