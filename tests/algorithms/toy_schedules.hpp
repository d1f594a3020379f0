// Schedules that only tests know: what worker.hpp promises of the threads of a rank, and a rank
// that takes no training data. Run by the simulator (tests/sim/worker_contract_test.cpp) and, built
// into an MPI program of their own, really (tests/calibrate/mpi_worker_test.cpp).
#pragma once

#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "algorithms/steps/training_steps.hpp"
#include "base/error.hpp"

namespace forescale::testing {

// What the threads of a rank share, with nothing that guards it: enter() sees whether somebody is
// inside, and add() loses a count when somebody else adds meanwhile.
class UnguardedSection {
 public:
  void enter() {
    if (is_inside_) fail("another thread of the rank is inside the section");
    is_inside_ = true;
  }
  void leave() { is_inside_ = false; }
  void add(const Worker& thread) {
    constexpr double kLong_s = 20e-6;  // for another thread of a real rank
    const int before = count_;
    for (const double begin_s = thread.now_s(); thread.now_s() - begin_s < kLong_s;)
      if (++looks_ % kLooks == 0) break;  // a simulated clock stands still
    count_ = before + 1;
  }
  void expect(int count) const {
    if (count_ != count)
      fail("counted " + std::to_string(count_) + " instead of " + std::to_string(count));
  }
  [[noreturn]] static void fail(const std::string& what) {
    throw InputError({.source = "toy schedule", .path = "", .value = "", .constraint = what});
  }

 private:
  static constexpr int kLooks = 10000;
  volatile bool is_inside_ = false;
  volatile int count_ = 0;
  int looks_ = 0;
};

// Helper threads that count in sections around all calls that return at once, and wait for what
// they started outside of them, or, where that breaks the promise on purpose, inside.
inline void run_turns(Worker& worker, const TrainingJob& job, bool waits_inside) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 25;
  constexpr std::int64_t kBytes = 64;
  UnguardedSection section;
  const int peer = worker.rank() ^ 1;
  const bool has_peer = peer < worker.worker_count();
  const auto count = [&](Worker& thread, int tag) {
    for (int round = 0; round < kRounds; ++round) {
      section.enter();
      section.add(thread);
      std::vector<Request> started = {thread.launch({.duration_s = 1e-6, .label = "kernel"}),
                                      thread.start(HostWork{.duration_s = 1e-6, .label = "work"}),
                                      thread.timer(1e-6)};
      if (has_peer) {
        const MessageStep step{.peer = peer, .bytes = kBytes, .tag = tag, .label = "message"};
        started.push_back(thread.receive(step));
        started.push_back(thread.send(step));
      }
      section.add(thread);
      if (waits_inside) thread.wait(started.back());
      section.leave();
      for (const Request& request : started) thread.wait(request);
      thread.test(started.front());
    }
  };
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    std::vector<Request> threads;
    for (int tag = 0; tag < kThreads; ++tag)
      threads.push_back(worker.spawn([&count, tag](Worker& thread) { count(thread, tag); }));
    for (const Request& thread : threads) worker.wait(thread);
    worker.end_iteration();
  }
  section.expect(2 * job.iterations * kThreads * kRounds);
}

inline Traffic no_traffic(const TrainingJob& /*job*/, int /*workers*/,
                          const std::vector<int>& /*nodes*/) {
  return {};
}

inline Schedule toy_turns() {
  return {.name = "toy-turns",
          .summary = "threads that take turns",
          .source = "tests",
          .run = [](Worker& worker, const TrainingJob& job) { run_turns(worker, job, false); },
          .traffic = no_traffic};
}

inline Schedule toy_turns_broken() {
  return {.name = "toy-turns-broken",
          .summary = "threads that wait where they must not",
          .source = "tests",
          .run = [](Worker& worker, const TrainingJob& job) { run_turns(worker, job, true); },
          .traffic = no_traffic};
}

// Rank 0 takes the batch and passes activations on; the last rank passes their gradients back. No
// rank but the first has training data.
inline void run_pipeline(Worker& worker, const TrainingJob& job) {
  constexpr std::int64_t kActivations_bytes = 4096;
  const int rank = worker.rank();
  const int last = worker.worker_count() - 1;
  const auto hand = [&](bool sends, int peer, const char* label) {
    const MessageStep step{.peer = peer, .bytes = kActivations_bytes, .label = label};
    worker.wait(sends ? worker.send(step) : worker.receive(step));
  };
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    if (rank == 0) take_batch(worker);
    if (rank > 0) hand(false, rank - 1, "activations");
    for (const TrainingStage& stage : job.stages) worker.run(forward(stage));
    if (rank < last) hand(true, rank + 1, "activations");
    if (rank < last) hand(false, rank + 1, "gradients of activations");
    for (const TrainingStage& stage : job.stages) worker.run(backward(stage));
    if (rank > 0) hand(true, rank - 1, "gradients of activations");
    worker.end_iteration();
  }
}

inline Schedule toy_pipeline() {
  return {.name = "toy-pipeline",
          .summary = "a stage a rank, one micro-batch",
          .source = "tests",
          .run = run_pipeline,
          .traffic = no_traffic};
}

}  // namespace forescale::testing
