// A program: what every thread of every rank of a training run does, in order, with its compute
// times. Recorded from a prediction or read from a file (docs/program.md), replayed on any platform
// (sim/run/replay_worker.hpp).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "traces/program/action_list.hpp"

namespace forescale {

inline constexpr const char* kProgramFormat = "forescale-program-1";

struct ProgramThread {
  ActionList actions;
};
struct ProgramRank {
  std::vector<ProgramThread> threads;  // the first is there from the start
};

struct Program {
  std::string title;
  int workers = 0;                  // ranks [0, workers) train, the others are servers
  bool servers_have_nodes = false;  // of their own
  int iterations = 0;
  bool is_asynchronous = false;
  std::vector<std::int64_t> images;  // by worker, an iteration
  std::int64_t value_bytes = 4;      // of what collectives carry
  // Kernels take as long as they did, or would, beside the collectives that they run beside.
  bool has_slowed_kernels = false;
  // Where it was recorded: names as the command line takes them.
  std::string platform;
  std::string stack;
  std::string placement;
  std::string data;
  std::string noise;
  std::string stragglers;
  std::map<CollectiveOp, std::string> plans;  // that replaced the stack's choice, plan_text() form
  std::vector<ProgramRank> ranks;
  // Of communicators that parts of the ranks have, each its own: the groups by rank. A collective
  // that names such a communicator, and no group itself, is of its rank's group.
  std::map<int, std::vector<RankGroup>> groups;
  // Of a schedule that follows arrivals: its name and what each rank trains, in place of what the
  // ranks' threads do, which are empty.
  std::string schedule;
  TrainingJobs jobs;
};

// JSON lines. Ranks that do the same as an earlier one are written as such.
void write_program(const Program& program, std::ostream& out);

// InputError naming `file`, the line and what is wrong with it: no JSON, an unknown key, a request
// or thread that is not there, ranks that are missing.
Program read_program(std::istream& in, const std::string& file);

}  // namespace forescale
