// Runs one of the MPI programs (calibrate/bench/request.hpp) under a launcher, as a child process:
// the request in a file, progress as it comes, and an answer also when a rank has died.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace forescale {

// How the program's lines about its progress begin, on stderr.
inline constexpr const char* kProgressLine = "progress: ";

// "openmpi" and "mpich", for people: "Open MPI".
std::string mpi_library_title(const std::string& library);

// The launcher of `library` ("openmpi" or "mpich"). InputError naming the package to install when
// it is not in PATH.
std::string mpi_launcher(const std::string& library);

// forescale-mpi-LIBRARY in the folder of `beside`. InputError saying what it needs to be built when
// it is not there.
std::string mpi_program(const std::string& library, const std::string& beside = "/proc/self/exe");

// Launcher and arguments for `ranks` ranks on this machine over loopback, however few cores it has;
// to be followed by a program and its arguments.
std::vector<std::string> loopback_command(const std::string& library, int ranks);

struct MpiOutcome {
  int exit_code = -1;    // of the launcher; 128 + N after signal N
  std::string failure;   // why there is no whole answer; empty: there is one
  std::string answer;    // JSON; of what was done before the failure, if there was one
  std::string err_tail;  // the last lines on stderr that were not progress
};

// Runs `command` (launcher, its arguments, the program) with the names of the request's and the
// answer's file appended. `on_progress` gets each progress line; may be empty.
// A run that takes longer than `timeout_s` is ended. SIGINT, SIGTERM and SIGHUP end it too, and are
// then raised again for whoever handled them before; nothing of it is left running.
// std::system_error when no process can be started.
MpiOutcome run_mpi(const std::vector<std::string>& command, const std::string& request_json,
                   const std::function<void(const std::string&)>& on_progress, double timeout_s);

}  // namespace forescale
