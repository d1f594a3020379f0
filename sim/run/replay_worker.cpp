#include "sim/run/replay_worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"

namespace forescale {
namespace {

using Kind = Action::Kind;
// Signals are set by one thread and waited for by another, everything else is waited for once.
int usual_uses(Kind kind) { return kind == Kind::kSignal ? 2 : 1; }

// What the threads of a rank share: requests that are still to be used, by id.
class RankReplay {
 public:
  RankReplay(const Program& program, int number)
      : rank_(program.ranks[static_cast<size_t>(number)]),
        number_(number),
        groups_(program.groups) {
    std::vector<std::pair<int, int>> changes;  // of an id, to the uses left
    for (const ProgramThread& thread : rank_.threads)
      for (const Action& action : thread.actions) {
        if (action.id >= 0) changes.emplace_back(action.id, -usual_uses(action.kind));
        for (const int id : action.requests) changes.emplace_back(id, 1);
      }
    std::sort(changes.begin(), changes.end());
    for (size_t i = 0; i < changes.size();) {
      const int id = changes[i].first;
      int sum = 0;
      for (; i < changes.size() && changes[i].first == id; ++i) sum += changes[i].second;
      if (sum != 0) more_uses_[id] = sum;
    }
  }

  const ProgramThread& thread(size_t number) const { return rank_.threads[number]; }

  CollectiveStep step_of(const Action& action) const {
    CollectiveStep step = std::get<CollectiveStep>(action.what);
    if (const auto known = groups_.find(step.communicator);
        step.group == nullptr && known != groups_.end()) {
      step.group = known->second[static_cast<size_t>(number_)];
      if (step.group == nullptr)
        throw InputError({.source = "the program",
                          .path = fmt::format("rank {}", number_),
                          .value = fmt::format("communicator {}", step.communicator),
                          .constraint = "has no group with this rank"});
    }
    return step;
  }

  void keep(const Action& action, Request request) {
    const auto more = more_uses_.find(action.id);
    const int uses = usual_uses(action.kind) + (more == more_uses_.end() ? 0 : more->second);
    if (uses > 0) kept_[action.id] = {std::move(request), uses};
  }

  Request use(int id) {
    const auto found = kept_.find(id);
    if (found == kept_.end())
      throw InputError({.source = "the program",
                        .path = fmt::format("rank {}", number_),
                        .value = fmt::format("request {}", id),
                        .constraint = "is waited for before another thread has made it: the "
                                      "program depends on times that are others here"});
    Request request = found->second.request;
    if (--found->second.uses == 0) kept_.erase(found);
    return request;
  }

 private:
  struct Kept {
    Request request;
    int uses = 0;  // left
  };

  const ProgramRank& rank_;
  int number_;
  const std::map<int, std::vector<RankGroup>>& groups_;
  std::unordered_map<int, int> more_uses_;  // than the usual, by id
  std::unordered_map<int, Kept> kept_;
};

void replay_thread(Worker& worker, size_t thread, const std::shared_ptr<RankReplay>& replay) {
  for (const Action& action : replay->thread(thread).actions) {
    const auto request = [&](size_t i) { return replay->use(action.requests[i]); };
    Request made;
    switch (action.kind) {
      case Kind::kKernel:
        made = worker.launch(std::get<Kernel>(action.what));
        break;
      case Kind::kCollective:
        made = worker.start(replay->step_of(action));
        break;
      case Kind::kSend:
        made = worker.send(std::get<MessageStep>(action.what));
        break;
      case Kind::kReceive:
        made = worker.receive(std::get<MessageStep>(action.what));
        break;
      case Kind::kPut:
        made = worker.put(std::get<MessageStep>(action.what));
        break;
      case Kind::kHostWork:
        made = worker.start(std::get<HostWork>(action.what));
        break;
      case Kind::kHostCopy:
        made = worker.start(std::get<HostCopy>(action.what));
        break;
      case Kind::kTimer:
        made = worker.start(std::get<Timer>(action.what));
        break;
      case Kind::kNextBatch:
        made = worker.next_batch();
        break;
      case Kind::kSpawn: {
        const auto number = static_cast<size_t>(std::get<ThreadStart>(action.what).thread);
        made = worker.spawn(
            [number, replay](Worker& spawned) { replay_thread(spawned, number, replay); });
        break;
      }
      case Kind::kSignal:
        made = worker.make_signal();
        break;
      case Kind::kWait:
        worker.wait(request(0));
        break;
      case Kind::kWaitAny: {
        std::vector<Request> some;
        for (size_t i = 0; i < action.requests.size(); ++i) some.push_back(request(i));
        worker.wait_any(some);
        break;
      }
      case Kind::kTest:
        worker.test(request(0));
        break;
      case Kind::kSet:
        worker.set(request(0));
        break;
      case Kind::kEndIteration:
        worker.end_iteration();
        break;
    }
    if (action.id >= 0) replay->keep(action, std::move(made));
  }
}

}  // namespace

void replay_rank(Worker& worker, const Program& program) {
  replay_thread(worker, 0, std::make_shared<RankReplay>(program, worker.rank()));
}

}  // namespace forescale
