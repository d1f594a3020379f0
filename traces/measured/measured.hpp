// What a profiler saw of one rank of a training run: host calls, the tasks that they queued on
// streams, and collectives. Importers fill it, rebuild.hpp makes a program of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <ranges>
#include <string>
#include <vector>

#include "algorithms/worker.hpp"

namespace forescale {

inline double seconds(std::int64_t time_ns) { return static_cast<double>(time_ns) * 1e-9; }

// Nanoseconds of the rank's own clock.
struct ClockSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t length_ns() const { return end_ns - begin_ns; }
};

struct HostCall {
  enum class Kind : std::uint8_t {
    kLaunch,      // queues a task
    kStreamWait,  // makes a stream wait for what another one has queued
    kWaitFor,     // blocks the host until tasks are done
    kStepEnd      // a training step ends
  };
  ClockSpan span;
  Kind kind = Kind::kLaunch;
  // When what it waited for was done; -1: read off the tasks that had been queued.
  std::int64_t resumes_ns = -1;
};

// Tasks of one stream run in the order of their launches.
struct MeasuredTask {
  ClockSpan span;
  int stream = 0;       // index, dense
  int call = -1;        // that queued it; -1: not in the trace
  int label = 0;        // index
  int work = -1;        // index; what its operator asked for, -1: not in the trace
  int collective = -1;  // index; -1: a kernel or a copy
  int messages = 1;     // collectives from there on: sends and receives launched together
  bool is_copy = false;
  bool is_communication = false;  // that is no collective here: it keeps its time
};

struct MeasuredCollective {
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::int64_t bytes = -1;      // as forescale names sizes of that operation; -1: not in the trace
  int root = 0;                 // index in the group
  std::string group = {};       // its name, equal on all members
  std::vector<int> ranks = {};  // of the group; empty: not in the trace
  int group_size = 0;           // as its sizes or arguments say; 0: they do not
  // From `root` to the other one of two ranks: NCCL's send and receive, as the broadcast that they
  // are.
  bool is_message = false;
  std::string kernel = {};  // of a library beside NCCL (communication_kernels.hpp)
};

// A gradient is there: when, and how much.
struct MeasuredGradient {
  std::int64_t ready_ns = 0;
  std::int64_t bytes = 0;
};

struct MeasuredRank {
  std::string file = {};
  int rank = -1;  // -1: not in the trace
  int world_size = 0;
  // Work of a host without GPU runs on the host itself.
  bool has_gpu = false;
  std::string gpu = {};  // what the driver calls it; empty: not in the trace
  std::vector<std::string> labels = {};
  std::vector<std::shared_ptr<const KernelWork>> works = {};
  std::vector<HostCall> calls = {};  // by begin
  std::vector<MeasuredTask> tasks = {};
  std::vector<MeasuredCollective> collectives = {};
  std::map<std::string, std::string> group_titles = {};  // what groups are for, by name
  std::vector<MeasuredGradient> gradients = {};  // in order of time; empty: not in the trace
  std::vector<ClockSpan> steps = {};             // in order of time; empty: not in the trace
  std::vector<std::string> notes = {};
};

// Puts tasks, and with them collectives, in the order of their launches. A task whose launch is not
// in the trace is taken to have been launched just before it began, but no later than the next one
// on its stream; a note says how many. Collectives launched before the trace begins keep their
// time.
void order_tasks(MeasuredRank& rank);

// The collectives of a task, indices; empty: none.
inline auto collectives_of(const MeasuredTask& task) {
  return std::views::iota(std::max(task.collective, 0),
                          task.collective < 0 ? 0 : task.collective + task.messages);
}

// Numbers the collectives that tasks still name in the order of the tasks, and forgets the others.
void renumber_collectives(MeasuredRank& rank);

}  // namespace forescale
