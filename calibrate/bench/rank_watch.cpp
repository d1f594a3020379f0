#include "calibrate/bench/rank_watch.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "calibrate/measure/mpi_failure.hpp"

namespace forescale {
namespace {

// As launchers tell their children.
std::string rank_from_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const char* rank = std::getenv(name); rank != nullptr) return rank;
  return "?";
}

}  // namespace

int run_watched(const std::function<int()>& body) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return body();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const int exit_code = body();
    std::exit(exit_code);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int signal = WTERMSIG(status);
  // Of a broken pipe ends a rank whose launcher no longer listens: another rank is the cause.
  if (signal == SIGPIPE) return 128 + signal;
  fmt::print(stderr, "{}rank {} was ended by signal {} ({})\n", kFailureLine, rank_from_launcher(),
             signal, strsignal(signal));
  return 128 + signal;
}

}  // namespace forescale
