// What is known of the testbeds of this machine: a file each in /run/forescale, and the names of
// everything that belongs to one.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/testbed/testbed.hpp"
#include "calibrate/testbed/testbed_process.hpp"

namespace forescale {

struct TestbedState {
  TestbedSpec spec;
  std::string network;  // "10.201.0": the first three numbers of its addresses
  // The process with which it ends; none: it stays until it is taken down.
  std::optional<ProcessIdentity> owner;
};

// Holds all testbeds of the machine for one process: others wait. SIGINT, SIGTERM and SIGHUP of the
// calling thread wait too, so that nothing is left half done. TestbedError without the rights.
class TestbedLock {
 public:
  TestbedLock();
  ~TestbedLock();
  TestbedLock(const TestbedLock&) = delete;
  TestbedLock& operator=(const TestbedLock&) = delete;

 private:
  int folder_ = -1;
  sigset_t mask_before_{};
};

// Of one that has a state file. InputError naming the file when it cannot be read.
std::optional<TestbedState> load_testbed_state(const std::string& name);
void save_testbed_state(const TestbedState& state);  // under the lock
std::vector<std::string> testbed_names();            // that have a state file, sorted

std::string testbed_folder(const std::string& name);  // scripts, and a TMPDIR for each host
std::string testbed_host(const std::string& name, int host);
std::string testbed_switch(const std::string& name, int number);
std::string testbed_address(const std::string& network, int host);

// A network that no testbed and no route of the machine uses. Under the lock.
std::string free_testbed_network();

// Whether a namespace, folder or state file of it is there.
bool has_testbed_parts(const std::string& name);
// Kills what runs in it and removes all its parts, also of one half made. Under the lock.
void remove_testbed(const std::string& name);
// Removes the testbeds whose owner does not run any more. Under the lock.
void remove_orphaned_testbeds();

}  // namespace forescale
