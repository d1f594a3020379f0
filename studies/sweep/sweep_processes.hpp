// The simulations of a study that run on this machine, each in a process of its own.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "studies/sweep/sweep_database.hpp"

namespace forescale {

// Runs the program with these arguments (without its name) and gives its exit code; the answer goes
// to stdout, the reason of a failure to stderr.
using SweepProgram = std::function<int(const std::vector<std::string>& arguments)>;

// What came of a point; `row` lacks what the study knows (key, place, inputs).
struct PointOutcome {
  std::size_t point = 0;
  SweepRow row;
};

std::string host_name();

class SweepProcesses {
 public:
  SweepProcesses(const SweepProgram& program, int slots);
  ~SweepProcesses();  // ends what still runs
  SweepProcesses(const SweepProcesses&) = delete;
  SweepProcesses& operator=(const SweepProcesses&) = delete;

  bool has_room() const { return running_.size() < static_cast<std::size_t>(slots_); }
  // std::system_error when no process can be started.
  void start(std::size_t point, const std::vector<std::string>& arguments);
  void add_to(std::vector<pollfd>& polls) const;
  std::vector<PointOutcome> collect();  // what has ended; never waits

 private:
  struct Stream {
    int pipe = -1;
    std::string text;
    void read_what_is_there();  // closes the pipe at its end
  };
  struct Child {
    std::size_t point = 0;
    pid_t pid = -1;
    Stream out;
    Stream err;
    Stream answers;  // that it has simulated
    std::array<Stream*, 3> streams() { return {&out, &err, &answers}; }
    std::array<const Stream*, 3> streams() const { return {&out, &err, &answers}; }
    std::chrono::steady_clock::time_point begin;
  };

  [[noreturn]] void become(const std::vector<std::string>& arguments, int out, int err, int answers,
                           pid_t parent) const;
  PointOutcome outcome_of(const Child& child, int status) const;

  const SweepProgram& program_;
  int slots_;
  std::vector<Child> running_;
};

}  // namespace forescale
