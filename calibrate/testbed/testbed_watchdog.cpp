#include "calibrate/testbed/testbed_watchdog.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "calibrate/testbed/testbed_state.hpp"

namespace forescale {
namespace {

constexpr std::array<int, 3> kEndings{SIGINT, SIGTERM, SIGHUP};

// Signal handlers see nothing but globals: the watchdogs of this process, and whose they are.
constexpr size_t kWatchdogsMax = 16;
std::array<std::atomic<pid_t>, kWatchdogsMax> watchdogs{};
std::atomic<pid_t> watched_process{0};

void take_down_and_end(int signal) {
  const int error = errno;
  if (getpid() == watched_process) {  // not in a process forked from it
    for (const auto& pid : watchdogs)
      if (pid != 0) kill(pid, SIGTERM);
    for (const auto& pid : watchdogs)
      while (pid != 0 && waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
  errno = error;
}

void handle_endings() {
  watched_process = getpid();
  for (const int signal : kEndings) {
    struct sigaction present {};
    sigaction(signal, nullptr, &present);
    if ((present.sa_flags & SA_SIGINFO) != 0 || present.sa_handler != SIG_DFL) continue;
    struct sigaction wanted {};
    wanted.sa_handler = take_down_and_end;
    sigemptyset(&wanted.sa_mask);
    sigaction(signal, &wanted, nullptr);
  }
}

void stop_handling() {
  for (const int signal : kEndings) {
    struct sigaction present {};
    sigaction(signal, nullptr, &present);
    if (present.sa_handler == take_down_and_end) std::signal(signal, SIG_DFL);
  }
}

// Longer than the command that the owner may have been running needs to end.
constexpr auto kLastCommand = std::chrono::milliseconds(100);

// The watchdog's life. It holds none of the owner's files, so that nobody waits for it.
[[noreturn]] void watch(const std::string& name, const ProcessIdentity& owner) {
  setsid();  // Ctrl-C is for the owner
  prctl(PR_SET_NAME, "testbed-watch");
  for (const int signal : {SIGINT, SIGHUP, SIGPIPE, SIGQUIT}) std::signal(signal, SIG_IGN);
  close_range(0, ~0U, 0);
  open("/dev/null", O_RDWR);
  dup2(0, STDOUT_FILENO);
  dup2(0, STDERR_FILENO);
  sigset_t told;
  sigemptyset(&told);
  sigaddset(&told, SIGTERM);
  sigprocmask(SIG_SETMASK, &told, nullptr);
  // A kernel without pidfd_open has file -1, which poll() ignores: then look five times a second.
  std::array<pollfd, 2> events{
      {{.fd = static_cast<int>(::syscall(SYS_pidfd_open, owner.pid, 0)),
        .events = POLLIN,
        .revents = 0},
       {.fd = signalfd(-1, &told, SFD_CLOEXEC), .events = POLLIN, .revents = 0}}};
  constexpr int kMilliseconds = 200;
  while (running_process(owner.pid) == owner && events[0].revents == 0 && events[1].revents == 0)
    poll(events.data(), events.size(), events[0].fd < 0 ? kMilliseconds : -1);
  try {
    const TestbedLock lock;
    std::this_thread::sleep_for(kLastCommand);
    const auto state = load_testbed_state(name);
    if (state && state->owner == owner) remove_testbed(name);
  } catch (const std::exception&) {  // nobody is left to tell; the next `up` tries again
  }
  _exit(0);
}

}  // namespace

TestbedWatchdog::TestbedWatchdog(const std::string& name)
    : owner_(running_process(getpid()).value_or(ProcessIdentity{.pid = getpid()})) {
  sigset_t endings;
  sigemptyset(&endings);
  for (const int signal : kEndings) sigaddset(&endings, signal);
  sigset_t mask_before;
  pthread_sigmask(SIG_BLOCK, &endings, &mask_before);  // until the handler knows the watchdog
  pid_ = fork();
  if (pid_ == 0) watch(name, owner_);
  const int error = errno;
  if (pid_ > 0) {
    for (auto& slot : watchdogs)
      if (pid_t none = 0; slot.compare_exchange_strong(none, pid_)) break;
    handle_endings();
  }
  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  if (pid_ < 0) throw TestbedError("fork", std::strerror(error));
}

TestbedWatchdog::~TestbedWatchdog() {
  bool is_last = true;
  for (auto& slot : watchdogs) {
    pid_t mine = pid_;
    slot.compare_exchange_strong(mine, 0);
    is_last = is_last && slot == 0;
  }
  if (is_last) stop_handling();
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace forescale
