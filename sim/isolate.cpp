#include "sim/isolate.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "sim/limits.hpp"

namespace forescale {
namespace {

struct Child {
  size_t task = 0;
  pid_t pid = -1;
  int pipe = -1;
  std::string text;
};

struct ChildAnswer {
  char kind = '\0';  // 'R' result, 'I' InputError, 'S' SimulationStuck, 'C' CheckFailed, 'E' other
  std::string text;
};

std::string answer_text(const std::function<std::string()>& task) {
  try {
    return "R" + task();
  } catch (const InputError& error) {
    const InputErrorParts& parts = error.parts();
    return "I" +
           nlohmann::json::array({parts.source, parts.path, parts.value, parts.constraint}).dump();
  } catch (const SimulationStuck& error) {
    return std::string("S") + error.what();
  } catch (const CheckFailed& error) {
    return std::string("C") + error.what();
  } catch (const std::exception& error) {
    return std::string("E") + error.what();
  }
}

[[noreturn]] void run_child(const std::function<std::string()>& task, int at_once, int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would read its answer
  share_memory(at_once, pipe);
  const std::string text = answer_text(task);
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(pipe, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) _exit(1);
    written += static_cast<size_t>(count);
  }
  std::fflush(nullptr);
  _exit(0);  // no destructors: the parent's copies of everything are not the child's to tear down
}

Child start(size_t task_number, const std::function<std::string()>& task, int at_once) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe for a child process");
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("cannot start a child process");
  if (pid == 0) {
    close(ends[0]);
    run_child(task, at_once, ends[1]);
  }
  close(ends[1]);
  return {.task = task_number, .pid = pid, .pipe = ends[0], .text = ""};
}

// Reads what is there; true at the end of the child.
bool read_some(Child& child) {
  std::array<char, 1 << 16> buffer{};
  const ssize_t count = ::read(child.pipe, buffer.data(), buffer.size());
  if (count > 0) {
    child.text.append(buffer.data(), static_cast<size_t>(count));
    return false;
  }
  return count == 0 || errno != EINTR;
}

ChildAnswer finish(const Child& child) {
  close(child.pipe);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    return {'S', fmt::format("a simulation process died: {}", strsignal(WTERMSIG(status)))};
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory) {
    const std::string reason = child.text.substr(child.text.rfind(kReasonBegin) + 1);
    return {'I', nlohmann::json::array({"--max-memory", "", "", reason}).dump()};
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || child.text.empty())
    return {'S', fmt::format("a simulation process ended with status {}", status)};
  return {child.text.front(), child.text.substr(1)};
}

void throw_if_failed(const ChildAnswer& answer) {
  switch (answer.kind) {
    case 'R':
      return;
    case 'I': {
      const auto parts = parse_json(answer.text);
      throw InputError(
          {.source = parts[0], .path = parts[1], .value = parts[2], .constraint = parts[3]});
    }
    case 'S':
      throw SimulationStuck(answer.text);
    case 'C':
      throw CheckFailed(answer.text);
    default:
      throw std::runtime_error(answer.text);
  }
}

std::vector<ChildAnswer> run_all(const std::vector<std::function<std::string()>>& tasks,
                                 int parallel,
                                 const std::function<void(size_t finished)>& on_done) {
  std::vector<ChildAnswer> answers(tasks.size());
  std::vector<Child> running;
  const int at_once = std::min(parallel, static_cast<int>(tasks.size()));
  size_t next = 0;
  size_t finished = 0;
  while (finished < tasks.size()) {
    while (next < tasks.size() && running.size() < static_cast<size_t>(at_once)) {
      running.push_back(start(next, tasks[next], at_once));
      ++next;
    }
    std::vector<pollfd> polls;
    for (const Child& child : running)
      polls.push_back({.fd = child.pipe, .events = POLLIN, .revents = 0});
    if (poll(polls.data(), polls.size(), -1) < 0 && errno != EINTR)
      throw std::runtime_error("cannot wait for a child process");
    for (size_t i = polls.size(); i-- > 0;) {
      if (polls[i].revents == 0 || !read_some(running[i])) continue;
      answers[running[i].task] = finish(running[i]);
      running.erase(running.begin() + static_cast<long>(i));
      on_done(++finished);
    }
  }
  return answers;
}

}  // namespace

std::vector<std::string> run_isolated(const std::vector<std::function<std::string()>>& tasks,
                                      int parallel,
                                      const std::function<void(size_t finished)>& on_done) {
  std::vector<std::string> texts;
  for (const ChildAnswer& answer : run_all(tasks, parallel, on_done)) {
    throw_if_failed(answer);
    texts.push_back(answer.text);
  }
  return texts;
}

std::vector<IsolatedAnswer> run_isolated_each(
    const std::vector<std::function<std::string()>>& tasks, int parallel,
    const std::function<void(size_t finished)>& on_done) {
  std::vector<IsolatedAnswer> answers;
  for (const ChildAnswer& answer : run_all(tasks, parallel, on_done)) {
    IsolatedAnswer& kept = answers.emplace_back();
    try {
      throw_if_failed(answer);
      kept.text = answer.text;
    } catch (const std::exception& error) {
      kept.failure = error.what();
    }
  }
  return answers;
}

// FORESCALE_CORES says otherwise: a simulation of a sweep has one, as the others have theirs.
int available_cores() {
  if (const char* allowed = std::getenv("FORESCALE_CORES")) return std::max(1, std::atoi(allowed));
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : static_cast<int>(cores);
}

}  // namespace forescale
