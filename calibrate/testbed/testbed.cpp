#include "calibrate/testbed/testbed.hpp"

#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "calibrate/testbed/testbed_links.hpp"
#include "calibrate/testbed/testbed_process.hpp"
#include "calibrate/testbed/testbed_scripts.hpp"
#include "calibrate/testbed/testbed_state.hpp"
#include "calibrate/testbed/testbed_watchdog.hpp"

namespace forescale {
namespace {

// Under the lock. Leaves nothing when it throws.
void make(const TestbedState& state) {
  const std::string& name = state.spec.name;
  remove_testbed(name);  // what may be left of one without a state file
  try {
    save_testbed_state(state);
    write_testbed_scripts(state.spec);
    make_testbed_network(state.spec, state.network);
  } catch (const std::exception&) {
    remove_testbed(name);
    throw;
  }
}

// Says what the machine lacks where that is why a command failed.
void explained(const std::function<void()>& action) {
  try {
    action();
  } catch (const TestbedError&) {
    const std::string obstacle = testbed_obstacle();
    if (obstacle.empty()) throw;
    throw InputError({.source = "testbed",
                      .path = "",
                      .value = "",
                      .constraint = "this machine cannot hold one: " + obstacle});
  }
}

TestbedState new_state(const TestbedSpec& spec, const ProcessIdentity& owner) {
  remove_orphaned_testbeds();
  if (load_testbed_state(spec.name))
    throw InputError({.source = "--name",
                      .path = "",
                      .value = spec.name,
                      .constraint = "is up already; take another name, or take it down first: "
                                    "forescale testbed down --name " +
                                    spec.name});
  return {.spec = spec, .network = free_testbed_network(), .owner = owner};
}

}  // namespace

std::string testbed_obstacle() {
  for (const char* program : {"ip", "tc", "bridge"})
    if (find_program(program).empty())
      return fmt::format("there is no {} (package iproute2)", program);
  const std::string name = fmt::format("fs-probe-{}", getpid());
  struct Attempt {
    std::vector<std::string> command;
    std::string lack;
  };
  const std::vector<Attempt> attempts{
      {{"ip", "netns", "add", name},
       "network namespaces cannot be made, which needs root with CAP_SYS_ADMIN and CAP_NET_ADMIN "
       "(in a container: --privileged)"},
      {{"ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", "p0"},
       "the kernel makes no virtual Ethernet (CONFIG_VETH)"},
      {{"ip", "-n", name, "link", "add", "br0", "type", "bridge"},
       "the kernel makes no bridge (CONFIG_BRIDGE)"},
      {{"tc", "-n", name, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "100mbit", "burst",
        "10kb", "limit", "4mb"},
       "the kernel has no tbf queue (CONFIG_NET_SCH_TBF)"}};
  std::string lack;
  for (const Attempt& attempt : attempts) {
    try {
      run_command(attempt.command);
    } catch (const TestbedError& error) {
      lack =
          fmt::format("{}{}; {}", geteuid() == 0 ? "" : "not root: ", attempt.lack, error.what());
      break;
    }
  }
  const std::string file = "/run/netns/" + name;
  umount2(file.c_str(), MNT_DETACH);
  unlink(file.c_str());
  return lack;
}

Testbed Testbed::up(const TestbedSpec& spec) {
  testbed_network(spec);
  const TestbedWatchdog watchdog(spec.name);
  TestbedState state;
  explained([&] {
    const TestbedLock lock;
    state = new_state(spec, watchdog.owner());
    make(state);
  });
  // A signal that came meanwhile arrives here, while there still is an owner.
  const TestbedLock lock;
  state.owner.reset();
  save_testbed_state(state);
  return Testbed(spec);
}

Testbed Testbed::find(const std::string& name, const std::string& option) {
  testbed_network({.name = name});
  const std::vector<std::string> names = all();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw InputError(
        {.source = option,
         .path = "",
         .value = name,
         .constraint =
             names.empty()
                 ? "no testbed is up; make one: forescale testbed up --name " + name
                 : fmt::format("no such testbed is up (up: {})", fmt::join(names, ", "))});
  return Testbed(load_testbed_state(name).value().spec);
}

std::vector<std::string> Testbed::all() {
  if (geteuid() == 0 && !testbed_names().empty()) {
    const TestbedLock lock;
    remove_orphaned_testbeds();
  }
  return testbed_names();
}

std::string Testbed::host_namespace(int host) const { return testbed_host(spec_.name, host); }

void Testbed::down(const std::string& name) {
  testbed_network({.name = name});
  const TestbedLock lock;
  remove_testbed(name);
}

ScopedTestbed::ScopedTestbed(const TestbedSpec& spec)
    : watchdog_((testbed_network(spec), std::make_unique<TestbedWatchdog>(spec.name))),
      testbed_(spec) {
  explained([&] {
    const TestbedLock lock;
    make(new_state(spec, watchdog_->owner()));
  });
}

ScopedTestbed::~ScopedTestbed() {
  try {
    Testbed::down(testbed_.spec().name);
  } catch (const std::exception&) {  // left to the next `up`, which finds its owner gone
  }
}

}  // namespace forescale
