// MPI across a testbed's hosts: launchers' command lines, and the scripts that they need.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "calibrate/testbed/testbed_scripts.hpp"
#include "calibrate/testbed/testbed_state.hpp"

namespace forescale {
namespace {

using Words = std::vector<std::string>;

void append(Words& command, const Words& more) {
  command.insert(command.end(), more.begin(), more.end());
}

void write_script(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) throw TestbedError("writing " + file, "not written");
  std::filesystem::permissions(file, std::filesystem::perms{0700});
}

std::string launcher(const std::string& library, const Words& names) {
  for (const std::string& name : names)
    if (std::string program = find_program(name); !program.empty()) return program;
  throw InputError({.source = "--mpi",
                    .path = "",
                    .value = library,
                    .constraint = fmt::format("is not installed: there is no {}",
                                              fmt::join(names, " and no "))});
}

// "fs-a-h0,fs-a-h1"; `each` is written after every name.
std::string host_list(const TestbedSpec& spec, int count, const std::string& each) {
  std::string list;
  for (int host = 0; host < count; ++host)
    list += (host > 0 ? "," : "") + testbed_host(spec.name, host) + each;
  return list;
}

Words open_mpi(const TestbedSpec& spec, const std::string& program, int ranks) {
  const int used = std::min(ranks, spec.hosts);
  const int slots = (ranks + used - 1) / used;
  const std::string folder = testbed_folder(spec.name);
  Words words = {
      "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
      "OMPI_MCA_orte_default_hostfile=none", folder + "/quietly", program, "--host",
      host_list(spec, used, fmt::format(":{}", slots)), "-np", fmt::format("{}", ranks), "--map-by",
      "node", "--bind-to", "none",
      // Daemons in the foreground: one that cannot start is an error, not a launcher that waits.
      "--leave-session-attached", "--mca", "plm", "rsh", "--mca", "plm_rsh_agent",
      folder + "/agent", "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "btl", "self,tcp", "--mca",
      "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0", "--mca",
      "mpi_yield_when_idle", "1"};
  // Send and receive only: with PUT a receiver's answer queues behind its own bulk data, and an
  // exchange runs at half of the rate.
  if (!spec.mpi_as_shipped) words.insert(words.end(), {"--mca", "btl_tcp_flags", "1"});
  return words;
}

Words mpich(const TestbedSpec& spec, const std::string& program, int ranks) {
  return {"UCX_TLS=self,tcp",
          "UCX_NET_DEVICES=eth0",
          program,
          "-launcher",
          "ssh",
          "-launcher-exec",
          testbed_folder(spec.name) + "/agent",
          "-rmk",
          "user",
          "-hosts",
          host_list(spec, std::min(ranks, spec.hosts), ""),
          "-iface",
          "eth0",
          "-n",
          fmt::format("{}", ranks)};
}

}  // namespace

void write_testbed_scripts(const TestbedSpec& spec) {
  const std::string folder = testbed_folder(spec.name);
  for (int host = 0; host < spec.hosts; ++host)
    std::filesystem::create_directories(folder + "/" + testbed_host(spec.name, host));
  // Each host has a TMPDIR of its own: launchers' daemons name their folders by machine and job,
  // and in a common one would remove each other's.
  write_script(folder + "/agent",
               fmt::format("#!/bin/sh\n"
                           "# Starts a command on a host as ssh does: [-OPTION..] HOST COMMAND..\n"
                           "while [ \"${{1#-}}\" != \"$1\" ]; do shift; done\n"
                           "host=$1\n"
                           "shift\n"
                           "export TMPDIR='{}'/\"$host\"\n"
                           "exec {} netns exec \"$host\" sh -c \"$*\"\n",
                           folder, find_program("ip")));
  // The filter must outlive the program, which may be the one that Ctrl-C ends first.
  write_script(
      folder + "/quietly",
      fmt::format("#!/bin/sh\n"
                  "# Runs a program without Open MPI's warning of a race that is none: the\n"
                  "# launched child has already set its process group by itself.\n"
                  "pipe=$(mktemp -u '{}/stderr.XXXXXX') && mkfifo \"$pipe\" || exit 1\n"
                  "(trap '' INT TERM HUP\n"
                  " exec grep --line-buffered -v 'plm:rsh: Warning: setpgid' >&2) "
                  "<\"$pipe\" &\n"
                  "exec 2>\"$pipe\"\n"
                  "rm \"$pipe\"\n"
                  "exec \"$@\"\n",
                  folder));
}

std::vector<std::string> Testbed::mpi_command(const std::string& library, int ranks) const {
  if (ranks < 1)
    throw InputError({.source = "--ranks",
                      .path = "",
                      .value = fmt::format("{}", ranks),
                      .constraint = "must be >= 1"});
  Words command{find_program("ip"),
                "netns",
                "exec",
                host_namespace(0),
                "env",
                fmt::format("TMPDIR={}/{}", testbed_folder(spec_.name), host_namespace(0))};
  if (library == "openmpi")
    append(command, open_mpi(spec_, launcher(library, {"mpirun.openmpi", "orterun"}), ranks));
  else if (library == "mpich")
    append(command, mpich(spec_, launcher(library, {"mpirun.mpich", "mpiexec.hydra"}), ranks));
  else
    throw InputError({.source = "--mpi",
                      .path = "",
                      .value = library,
                      .constraint = unknown_name(library, {"openmpi", "mpich"})});
  return command;
}

}  // namespace forescale
