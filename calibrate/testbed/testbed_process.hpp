// Processes and network namespaces: what a testbed is made with. Linux only.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace forescale {

// The full path of a program on PATH or in the system's sbin folders; empty if there is none.
std::string find_program(const std::string& name);

// Runs a program of find_program() without a shell, `input` on its stdin, and gives its stdout.
// TestbedError when it is not there or ends with another status than 0; of a batch (`ip -batch -`)
// names the line that failed.
std::string run_command(const std::vector<std::string>& command, const std::string& input = "");

// Runs `action` with the network of a namespace of `ip netns`, in a thread of its own. Exceptions
// come back to the caller. TestbedError if there is no such namespace or it may not be entered.
void in_namespace(const std::string& name, const std::function<void()>& action);

// Kills the processes (but not this one) whose network is one of these namespaces, and waits until
// they are gone. TestbedError if one does not end within seconds.
void kill_processes_in(const std::vector<std::string>& namespaces);

// A process, not mistaken for a later one with its number.
struct ProcessIdentity {
  pid_t pid = 0;
  unsigned long long start = 0;  // clock ticks after boot

  bool operator==(const ProcessIdentity&) const = default;
};
// None when it does not run (any more); a zombie does not run.
std::optional<ProcessIdentity> running_process(pid_t pid);

}  // namespace forescale
