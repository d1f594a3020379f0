#include "calibrate/testbed/testbed_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include "calibrate/testbed/testbed.hpp"

namespace forescale {
namespace {

constexpr auto kKillDeadline = std::chrono::seconds(60);

// A file in memory, so that neither side of a command ever waits for the other.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text) : file_(memfd_create("forescale", MFD_CLOEXEC)) {
    if (file_ < 0) throw TestbedError("memfd_create", std::strerror(errno));
    if (write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      throw TestbedError("write", std::strerror(errno));
    lseek(file_, 0, SEEK_SET);
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int file() const { return file_; }
  std::string text() const {
    std::string text(static_cast<size_t>(lseek(file_, 0, SEEK_END)), '\0');
    const ssize_t count = pread(file_, text.data(), text.size(), 0);
    text.resize(count < 0 ? 0 : static_cast<size_t>(count));
    return text;
  }

 private:
  int file_;
};

std::string line_of(const std::string& text, size_t number) {
  std::istringstream lines(text);
  std::string line;
  for (size_t i = 0; i < number && std::getline(lines, line);) ++i;
  return line;
}

// What failed and why, in one line each. iproute2 ends a batch with "Command failed -:LINE".
TestbedError failure(const std::vector<std::string>& command, const std::string& input,
                     std::string said, int status) {
  std::string name = fmt::format("{}", fmt::join(command, " "));
  constexpr std::string_view kMark = "Command failed -:";
  if (const size_t mark = said.find(kMark); mark != std::string::npos) {
    size_t line = 0;
    std::from_chars(said.data() + mark + kMark.size(), said.data() + said.size(), line);
    const size_t batch = name.find(" -batch -");
    name = name.substr(0, batch) + " " + line_of(input, line);
    said.resize(mark);
  }
  while (!said.empty() && std::isspace(static_cast<unsigned char>(said.back())) != 0)
    said.pop_back();
  for (char& letter : said)
    if (letter == '\n') letter = ' ';
  if (said.empty())
    said = WIFEXITED(status) ? fmt::format("status {}", WEXITSTATUS(status))
                             : fmt::format("signal {}", WTERMSIG(status));
  return {name, said};
}

std::string namespace_file(const std::string& name) { return "/run/netns/" + name; }

using FileIdentity = std::pair<dev_t, ino_t>;

std::optional<FileIdentity> identity_of(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

std::vector<pid_t> processes_with_network(const std::set<FileIdentity>& networks) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc{}) continue;
    const auto network = identity_of("/proc/" + name + "/ns/net");
    if (network && networks.contains(*network) && pid != getpid()) found.push_back(pid);
  }
  return found;
}

}  // namespace

TestbedError::TestbedError(const std::string& command, const std::string& said)
    : InputError({.source = command, .path = "", .value = "", .constraint = "failed: " + said}) {}

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(fmt::format("{}:/usr/sbin:/sbin", path == nullptr ? "" : path));
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = fmt::format("{}/{}", folder, name);
    if (!folder.empty() && access(file.c_str(), X_OK) == 0 &&
        std::filesystem::is_regular_file(file))
      return file;
  }
  return "";
}

std::string run_command(const std::vector<std::string>& command, const std::string& input) {
  const std::string program = find_program(command.front());
  if (program.empty()) throw TestbedError(command.front(), "no such program (package iproute2)");
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const MemoryFile in(input);
  const MemoryFile out("");
  const MemoryFile err("");
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.file(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.file(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.file(), STDERR_FILENO);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw TestbedError(program, std::strerror(error));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) throw TestbedError(program, std::strerror(errno));
  if (status != 0) throw failure(command, input, err.text(), status);
  return out.text();
}

void in_namespace(const std::string& name, const std::function<void()>& action) {
  std::exception_ptr problem;
  std::thread([&] {
    try {
      const int file = open(namespace_file(name).c_str(), O_RDONLY | O_CLOEXEC);
      const bool entered = file >= 0 && setns(file, CLONE_NEWNET) == 0;
      const int error = errno;
      if (file >= 0) close(file);
      if (!entered) throw TestbedError("entering network namespace " + name, std::strerror(error));
      action();
    } catch (...) {
      problem = std::current_exception();
    }
  }).join();
  if (problem) std::rethrow_exception(problem);
}

void kill_processes_in(const std::vector<std::string>& namespaces) {
  std::set<FileIdentity> networks;
  // A namespace whose file is no mount point (half made) is on the file system of /run, so it is
  // nobody's network.
  for (const std::string& name : namespaces)
    if (const auto identity = identity_of(namespace_file(name))) networks.insert(*identity);
  if (networks.empty()) return;
  const auto deadline = std::chrono::steady_clock::now() + kKillDeadline;
  for (auto left = processes_with_network(networks); !left.empty();
       left = processes_with_network(networks)) {
    if (std::chrono::steady_clock::now() > deadline)
      throw TestbedError(fmt::format("kill -9 {}", fmt::join(left, " ")), "still there");
    for (const pid_t pid : left) kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::optional<ProcessIdentity> running_process(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  fields >> state;
  if (state == "Z" || state == "X") return std::nullopt;
  constexpr int kFieldsUpToStart = 18;  // state is the 3rd, the start time the 22nd: proc(5)
  std::string skipped;
  for (int i = 0; i < kFieldsUpToStart; ++i) fields >> skipped;
  ProcessIdentity identity{.pid = pid};
  fields >> identity.start;
  return fields ? std::optional(identity) : std::nullopt;
}

}  // namespace forescale
