// Builds the program of one rank, action by action: what importers use.
#pragma once

#include <utility>

#include "traces/program/program.hpp"

namespace forescale {

class ProgramWriter {
 public:
  explicit ProgramWriter(ProgramRank& rank) : rank_(rank) {
    if (rank_.threads.empty()) rank_.threads.emplace_back();
  }

  // Adds an action that makes a request, and gives the request's id. `what` is a Kernel,
  // CollectiveStep, MessageStep, HostWork, HostCopy, Timer; nothing for kSignal.
  template <class What = std::monostate>
  int start(int thread, Action::Kind kind, What what = {}) {
    const int id = next_id_++;
    add(thread, {.kind = kind, .id = id, .requests = {}, .what = std::move(what)});
    return id;
  }
  void wait(int thread, int id) { add(thread, {.kind = Action::Kind::kWait, .requests = {id}}); }
  void test(int thread, int id) { add(thread, {.kind = Action::Kind::kTest, .requests = {id}}); }
  void set(int thread, int id) { add(thread, {.kind = Action::Kind::kSet, .requests = {id}}); }
  // Traces hold no reading of training data: the batch that an iteration has to take is there.
  void end_iteration(int thread = 0) {
    wait(thread, start(thread, Action::Kind::kNextBatch));
    add(thread, {.kind = Action::Kind::kEndIteration});
  }

  // A new thread of the rank, started there and now; its request is complete when it has ended.
  struct Spawned {
    int thread = 0;
    int id = 0;
  };
  Spawned spawn(int from_thread) {
    const int thread = static_cast<int>(rank_.threads.size());
    rank_.threads.emplace_back();
    return {thread, start(from_thread, Action::Kind::kSpawn, ThreadStart{thread})};
  }

 private:
  void add(int thread, const Action& action) {
    rank_.threads[static_cast<size_t>(thread)].actions.push_back(action);
  }

  ProgramRank& rank_;
  int next_id_ = 0;
};

}  // namespace forescale
