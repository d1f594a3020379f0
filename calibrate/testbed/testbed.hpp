// The one-machine cluster: network namespaces as hosts, rate-limited links, MPI across them.
//
// Each host is a network namespace with one virtual Ethernet cable to a switch (a bridge in a
// namespace of its own). Both ends of every cable, and of the trunk between two switches, carry a
// token-bucket shaper, so both directions are limited. Jumbo frames of 9000 bytes without
// segmentation offload above that, and a bucket of 10 kB, keep the shaper's burst to 160 us at
// 500 Mbit/s. No route leaves the machine.
// Names and addresses are the testbed's own: namespaces fs-NAME-h0.., fs-NAME-s0.., a /24 of
// 10.0.0.0/8 chosen free at the time and kept in the testbed's state file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

namespace forescale {

// A command that a testbed is made with failed: names the command and says what it said.
class TestbedError : public InputError {
 public:
  TestbedError(const std::string& command, const std::string& said);
};

struct TestbedSpec {
  std::string name = "default";  // [a-z0-9]{1,8}
  int hosts = 8;                 // 1 to 64
  BytesPerSecond rate{500e6 / 8};
  // "star", "two-switches:trunk=300mbit" (the first half of the hosts, rounded up, on the first
  // switch) or "slow-host=3:100mbit" (a star with one slower cable; several: "slow-host=3:100mbit,
  // 5:50mbit"). Rates as tc writes them (kbit, mbit, gbit) or as elsewhere (12.5MB/s, 100Mbit/s).
  std::string topology = "star";
  // Open MPI's TCP transport as it is shipped, with its put protocol: two ranks that send to each
  // other may get half of the rate each.
  bool mpi_as_shipped = false;
};

// The spec in numbers.
struct TestbedNetwork {
  std::vector<BytesPerSecond> host_rate;  // by host
  std::vector<int> host_switch;           // 0 or 1, by host
  BytesPerSecond trunk_rate;              // between the switches; 0: one switch
};
// InputError naming --name, --hosts, --rate or --topology.
TestbedNetwork testbed_network(const TestbedSpec& spec);
// "500mbit" as tc writes it, or what parse_bandwidth() reads.
BytesPerSecond parse_rate(const std::string& text, const std::string& option);

// What this machine lacks for a testbed ("not root", "no tc (package iproute2)", "the kernel has no
// tbf queue"), empty if nothing: tried, not guessed.
std::string testbed_obstacle();

class Testbed {
 public:
  // Brings it up, to stay after the end of the program. InputError when that name is up already;
  // TestbedError when a command fails or the machine lacks something. Whatever was made is removed
  // again when anything fails or the program is ended meanwhile.
  static Testbed up(const TestbedSpec& spec);
  // One that is up. InputError naming `option` when none is.
  static Testbed find(const std::string& name, const std::string& option);
  static std::vector<std::string> all();

  const TestbedSpec& spec() const { return spec_; }
  std::string host_namespace(int host) const;

  // The launcher and its arguments, to be followed by a program and its own: MPI across the hosts,
  // one rank a host when ranks <= hosts, else round robin. `library`: "openmpi" or "mpich".
  // InputError naming --mpi or --ranks. MPICH 4.0 over UCX 1.13's TCP hangs in MPI_Finalize, in a
  // testbed or not (github.com/openucx/ucx/issues/8738): a program that wants to end leaves by
  // _exit(0) after a barrier.
  std::vector<std::string> mpi_command(const std::string& library, int ranks) const;

  // Removes it: kills what runs in its namespaces, then the namespaces and files. Safe to call
  // twice, and on what is left of a testbed half made.
  static void down(const std::string& name);

 private:
  friend class ScopedTestbed;
  explicit Testbed(TestbedSpec spec) : spec_(std::move(spec)) {}
  TestbedSpec spec_;
};

class TestbedWatchdog;

// Holds a testbed up and takes it down at the end of the scope, also when the program is ended by
// SIGINT, SIGTERM or SIGHUP, crashes or is killed.
class ScopedTestbed {
 public:
  explicit ScopedTestbed(const TestbedSpec& spec);
  ~ScopedTestbed();
  ScopedTestbed(const ScopedTestbed&) = delete;
  ScopedTestbed& operator=(const ScopedTestbed&) = delete;
  const Testbed& testbed() const { return testbed_; }

 private:
  std::unique_ptr<TestbedWatchdog> watchdog_;
  Testbed testbed_;
};

}  // namespace forescale
