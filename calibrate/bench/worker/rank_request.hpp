// What a thread of a rank can wait for. All of it under the rank's lock.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <condition_variable>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/worker.hpp"
#include "calibrate/bench/collectives/plan_run.hpp"
#include "calibrate/bench/patterns/buffer_pool.hpp"

namespace forescale {

// Itself: a signal of another thread, or its end.
struct RankRequest : Pending {
  virtual bool is_communication() const { return false; }
  // Done at a time that the rank's own clock tells.
  virtual bool is_timed() const { return false; }
  // What a wait for it counts as; nothing: idle.
  virtual std::optional<Phase> phase() const { return std::nullopt; }
  virtual std::string describe() const { return "a signal of another thread"; }

  void complete() {
    is_done = true;
    for (std::condition_variable_any* waiter : waiters) waiter->notify_all();
  }

  bool is_done = false;
  std::int64_t value = 0;
  std::vector<std::condition_variable_any*> waiters;
};

struct KernelRequest final : RankRequest {
  bool is_timed() const override { return true; }
  std::string describe() const override { return "kernel " + label; }
  std::string label;
};

// Work on the rank's host, a copy, training data, a timer.
struct LocalRequest final : RankRequest {
  bool is_timed() const override { return true; }
  std::optional<Phase> phase() const override { return what; }
  std::string describe() const override { return text; }
  void part_done() {
    if (--parts == 0) complete();
  }
  std::optional<Phase> what;
  std::string text;
  int parts = 1;
};

// One side of a message.
struct MessageRequest final : RankRequest {
  bool is_communication() const override { return true; }
  std::optional<Phase> phase() const override { return step.phase; }
  std::string describe() const override {
    return fmt::format("{} {} bytes {} rank {} (tag {}, \"{}\")", sends ? "sending" : "receiving",
                       step.bytes, sends ? "to" : "from", step.peer, step.tag, step.label);
  }
  MessageStep step;
  bool sends = false;
  PooledBuffer buffer;
};

struct CollectiveRequest final : RankRequest {
  bool is_communication() const override { return true; }
  std::optional<Phase> phase() const override { return step.phase; }
  std::string describe() const override {
    return fmt::format("{} #{} of {} bytes (\"{}\", root {}) among {} ranks on communicator {}",
                       name_of(step.op), number, step.bytes, step.label, step.root, members,
                       step.communicator);
  }
  CollectiveStep step;
  std::int64_t number = 0;
  size_t members = 0;
  PooledBuffer buffer;
  std::unique_ptr<PlanRun> run;
};

}  // namespace forescale
