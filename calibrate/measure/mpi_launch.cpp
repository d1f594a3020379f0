#include "calibrate/measure/mpi_launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/error.hpp"
#include "base/noted_signals.hpp"
#include "base/scratch_folder.hpp"
#include "calibrate/measure/mpi_failure.hpp"

namespace forescale {
namespace {

using Clock = std::chrono::steady_clock;

double since_s(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string file; std::getline(folders, file, ':');) {
    file += '/';
    file += name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

[[noreturn]] void missing(const std::string& library, const std::string& what) {
  throw InputError({.source = "--mpi", .path = "", .value = library, .constraint = what});
}

void require_known(const std::string& library) {
  if (library != "openmpi" && library != "mpich")
    missing(library, unknown_name(library, {"openmpi", "mpich"}));
}

// The launcher, leader of a process group of its own, with its output in a pipe.
class LauncherProcess {
 public:
  explicit LauncherProcess(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& argument : command)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) become(arguments, ends[1], parent);
    close(ends[1]);
    pipe_ = ends[0];
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), command.front());
    setpgid(pid_, pid_);  // both sides, so that neither is too late
  }
  ~LauncherProcess() {
    if (!has_ended_) end();
    if (pipe_ >= 0) close(pipe_);
  }
  LauncherProcess(const LauncherProcess&) = delete;
  LauncherProcess& operator=(const LauncherProcess&) = delete;

  // Waits up to a tenth of a second for output; false when there will be none any more.
  bool read(std::string& text) {
    pollfd waiting = {.fd = pipe_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, 100) <= 0) return true;
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(pipe_, buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
  }

  // Launchers end their ranks, wherever they run, when they are asked to.
  void end() {
    kill(-pid_, SIGTERM);
    kill(-pid_, SIGCONT);  // one that was stopped would not hear it
    for (const auto begin = Clock::now(); since_s(begin) < 5 && !has_ended();) usleep(20'000);
    kill(-pid_, SIGKILL);
    wait();
  }
  bool has_ended() {
    if (!has_ended_) has_ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    return has_ended_;
  }
  int wait() {
    while (!has_ended_) has_ended_ = waitpid(pid_, &status_, 0) == pid_ || errno != EINTR;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

 private:
  // In the child; nothing here may allocate.
  [[noreturn]] static void become(const std::vector<char*>& arguments, int output, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execvp(arguments.front(), arguments.data());
    constexpr std::array<char, 28> kMessage = {"the launcher did not start\n"};
    (void)!::write(STDERR_FILENO, kMessage.data(), kMessage.size() - 1);
    _exit(127);
  }

  pid_t pid_ = -1;
  int pipe_ = -1;
  int status_ = 0;
  bool has_ended_ = false;
};

// Sorts the lines of the output.
class OutputLines {
 public:
  explicit OutputLines(const std::function<void(const std::string&)>& on_progress)
      : on_progress_(on_progress) {}

  void take(std::string& text) {
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      take_line(text.substr(begin, end - begin));
    text.erase(0, begin);
  }
  void take_line(const std::string& line) {
    constexpr std::size_t kKept = 60;
    if (line.starts_with(kProgressLine)) {
      if (on_progress_) on_progress_(line.substr(std::string(kProgressLine).size()));
    } else if (!line.empty()) {
      others_.push_back(line);
      if (others_.size() > kKept) others_.pop_front();
    }
  }
  std::string tail() const { return fmt::format("{}", fmt::join(others_, "\n")); }

 private:
  const std::function<void(const std::string&)>& on_progress_;
  std::deque<std::string> others_;
};

std::string text_of_file(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

MpiOutcome run_watching_signals(const std::vector<std::string>& command,
                                const std::string& request_json,
                                const std::function<void(const std::string&)>& on_progress,
                                double timeout_s) {
  const ScratchFolder folder("mpi");
  std::ofstream(folder.file("request.json"), std::ios::binary) << request_json;
  // Launchers of Open MPI that share a folder for their sessions take it from each other: the one
  // that ends removes what the one that begins has just made ("A call to mkdir was unable to create
  // ...").
  std::vector<std::string> whole{"env", "TMPDIR=" + folder.file("")};
  whole.insert(whole.end(), command.begin(), command.end());
  whole.push_back(folder.file("request.json"));
  whole.push_back(folder.file("answer.json"));

  MpiOutcome outcome;
  OutputLines lines(on_progress);
  LauncherProcess launcher(whole);
  const auto begin = Clock::now();
  bool is_too_long = false;
  std::string text;
  while (NotedSignals::received() == 0 && !is_too_long && launcher.read(text)) {
    lines.take(text);
    is_too_long = since_s(begin) > timeout_s;
  }
  if (is_too_long || NotedSignals::received() != 0) launcher.end();
  lines.take_line(text);
  outcome.exit_code = launcher.wait();
  outcome.answer = text_of_file(folder.file("answer.json"));
  outcome.err_tail = lines.tail();
  if (is_too_long)
    outcome.failure = fmt::format("not finished after {:g} s", timeout_s);
  else if (outcome.exit_code != 0)
    outcome.failure = mpi_failure(outcome.err_tail, outcome.exit_code);
  return outcome;
}

}  // namespace

std::string mpi_library_title(const std::string& library) {
  require_known(library);
  return library == "openmpi" ? "Open MPI" : "MPICH";
}

std::string mpi_launcher(const std::string& library) {
  require_known(library);
  // Where both are installed, mpirun alone is one of them, one does not know which.
  for (const std::string& name : {"mpirun." + library, std::string("mpirun")})
    if (std::string file = in_path(name); !file.empty()) return file;
  missing(library, library == "openmpi" ? "no mpirun of Open MPI (package openmpi-bin)"
                                        : "no mpirun of MPICH (package mpich)");
}

std::string mpi_program(const std::string& library, const std::string& beside) {
  require_known(library);
  std::error_code error;
  const std::filesystem::path self = std::filesystem::canonical(beside, error);
  std::string program = self.parent_path() / ("forescale-mpi-" + library);
  if (!error && access(program.c_str(), X_OK) == 0) return program;
  missing(library,
          fmt::format(
              "forescale-mpi-{} is not built: install {}, then build again", library,
              library == "openmpi" ? "libopenmpi-dev and openmpi-bin" : "libmpich-dev and mpich"));
}

std::vector<std::string> loopback_command(const std::string& library, int ranks) {
  const std::string launcher = mpi_launcher(library);
  if (library == "mpich") return {launcher, "-launcher", "fork", "-np", std::to_string(ranks)};
  std::vector<std::string> command;
  if (geteuid() == 0)
    command = {"env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  const std::vector<std::string> rest = {launcher,
                                         "--oversubscribe",
                                         "--bind-to",
                                         "none",
                                         "--mca",
                                         "btl",
                                         "self,tcp",
                                         "--mca",
                                         "btl_tcp_if_include",
                                         "lo",
                                         "--mca",
                                         "oob_tcp_if_include",
                                         "lo",
                                         "--mca",
                                         "plm",
                                         "isolated",
                                         "--mca",
                                         "mpi_yield_when_idle",
                                         "1",
                                         "-np",
                                         std::to_string(ranks)};
  command.insert(command.end(), rest.begin(), rest.end());
  return command;
}

MpiOutcome run_mpi(const std::vector<std::string>& command, const std::string& request_json,
                   const std::function<void(const std::string&)>& on_progress, double timeout_s) {
  NotedSignals signals;
  MpiOutcome outcome = run_watching_signals(command, request_json, on_progress, timeout_s);
  if (NotedSignals::received() != 0) {
    signals.raise_received();
    outcome.failure = "interrupted";
  }
  return outcome;
}

}  // namespace forescale
