#include "studies/sweep/sweep_processes.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/json_text.hpp"
#include "sim/ask/known_answers.hpp"
#include "sim/engine/world.hpp"

namespace forescale {
namespace {

using Clock = std::chrono::steady_clock;

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return ends;
}

// "forescale: --ranks = 3: must be even\n" -> "--ranks = 3: must be even".
std::string reason_from(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.pop_back();
  const std::string program = "forescale: ";
  if (text.starts_with(program)) text.erase(0, program.size());
  return text;
}

}  // namespace

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

void SweepProcesses::Stream::read_what_is_there() {
  std::array<char, 1 << 16> buffer{};
  while (pipe >= 0) {
    const ssize_t count = read(pipe, buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else if (count < 0 && errno == EAGAIN) {
      return;
    } else {
      close(pipe);
      pipe = -1;
    }
  }
}

// What every point needs is loaded once.
SweepProcesses::SweepProcesses(const SweepProgram& program, int slots)
    : program_(program), slots_(slots) {
  load_simgrid();
  KnownAnswers::of_this_process().begin_sharing();
}

SweepProcesses::~SweepProcesses() {
  for (const Child& child : running_) kill(-child.pid, SIGKILL);
  for (const Child& child : running_) {
    while (waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    for (const Stream* stream : child.streams())
      if (stream->pipe >= 0) close(stream->pipe);
  }
}

void SweepProcesses::start(std::size_t point, const std::vector<std::string>& arguments) {
  const std::array<int, 2> out = make_pipe();
  const std::array<int, 2> err = make_pipe();
  const std::array<int, 2> answers = make_pipe();
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(arguments, out[1], err[1], answers[1], parent);
  const int error = errno;
  close(out[1]);
  close(err[1]);
  close(answers[1]);
  if (pid < 0) {
    close(out[0]);
    close(err[0]);
    close(answers[0]);
    throw std::system_error(error, std::generic_category(), "fork");
  }
  setpgid(pid, pid);  // both sides, so that neither is too late
  running_.push_back({.point = point,
                      .pid = pid,
                      .out = {.pipe = out[0], .text = ""},
                      .err = {.pipe = err[0], .text = ""},
                      .answers = {.pipe = answers[0], .text = ""},
                      .begin = Clock::now()});
}

// A group of its own: a Ctrl-C ends the sweep, which takes its children along, and no child is seen
// to fail before. Nothing is left open of the parent's files: neither locks nor connections may
// outlive it.
void SweepProcesses::become(const std::vector<std::string>& arguments, int out, int err,
                            int answers, pid_t parent) const {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  setenv("FORESCALE_CORES", "1", 1);  // the others have a point of their own
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  constexpr int kAnswers = STDERR_FILENO + 1;
  if (answers != kAnswers) dup2(answers, kAnswers);
  fcntl(kAnswers, F_SETFD, FD_CLOEXEC);
  close_range(kAnswers + 1, ~0U, 0);
  const int exit_code = program_(arguments);
  std::fflush(nullptr);
  const std::string told = KnownAnswers::of_this_process().told();
  for (std::size_t at = 0; at < told.size();) {
    const ssize_t count = write(kAnswers, told.data() + at, told.size() - at);
    if (count < 0 && errno != EINTR) break;
    if (count > 0) at += static_cast<std::size_t>(count);
  }
  _exit(exit_code);  // no destructors: the parent's copies are not the child's to tear down
}

void SweepProcesses::add_to(std::vector<pollfd>& polls) const {
  for (const Child& child : running_)
    for (const Stream* stream : child.streams())
      if (stream->pipe >= 0) polls.push_back({.fd = stream->pipe, .events = POLLIN, .revents = 0});
}

std::vector<PointOutcome> SweepProcesses::collect() {
  std::vector<PointOutcome> outcomes;
  for (std::size_t i = running_.size(); i-- > 0;) {
    Child& child = running_[i];
    bool is_open = false;
    for (Stream* stream : child.streams()) {
      stream->read_what_is_there();
      is_open = is_open || stream->pipe >= 0;
    }
    if (is_open) continue;
    KnownAnswers::of_this_process().gather(child.answers.text);
    int status = 0;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    outcomes.push_back(outcome_of(child, status));
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return outcomes;
}

PointOutcome SweepProcesses::outcome_of(const Child& child, int status) const {
  PointOutcome outcome{.point = child.point, .row = {}};
  SweepRow& row = outcome.row;
  row.wall_s = std::chrono::duration<double>(Clock::now() - child.begin).count();
  row.host = host_name();
  row.finished = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  const std::string said = reason_from(child.err.text);
  if (WIFSIGNALED(status)) {
    row.exit_code = 128 + WTERMSIG(status);
    row.reason = fmt::format("the simulation died: {}{}{}", strsignal(WTERMSIG(status)),
                             said.empty() ? "" : ": ", said);
    return outcome;
  }
  row.exit_code = WEXITSTATUS(status);
  const auto answer = parse_json_or_discard(child.out.text);
  if (row.exit_code != 0)
    row.reason = said.empty() ? fmt::format("exit code {}", row.exit_code) : said;
  else if (answer.is_discarded())
    row.reason = "the answer is no JSON";
  else
    row.answer = answer.dump();
  return outcome;
}

}  // namespace forescale
