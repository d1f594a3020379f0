#include "sim/replay_worker.hpp"

#include <fmt/format.h>

#include <map>

#include "models/error.hpp"

namespace forescale {
namespace {

using Kind = Action::Kind;
using Requests = std::map<int, Request>;  // by id, of all threads of a rank

const Request& find(const Requests& requests, int id, int rank) {
  const auto found = requests.find(id);
  if (found == requests.end())
    throw InputError({.source = "the program",
                      .path = fmt::format("rank {}", rank),
                      .value = fmt::format("request {}", id),
                      .constraint = "is waited for before another thread has made it: the program "
                                    "depends on times that are others here"});
  return found->second;
}

void replay_thread(Worker& worker, const ProgramRank& rank, size_t thread,
                   const std::shared_ptr<Requests>& requests) {
  for (const Action& action : rank.threads[thread].actions) {
    const auto request = [&](size_t i) -> const Request& {
      return find(*requests, action.requests[i], worker.rank());
    };
    Request made;
    switch (action.kind) {
      case Kind::kKernel:
        made = worker.launch(std::get<Kernel>(action.what));
        break;
      case Kind::kCollective:
        made = worker.start(std::get<CollectiveStep>(action.what));
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
        made = worker.timer(std::get<TimerStart>(action.what).delay_s);
        break;
      case Kind::kNextBatch:
        made = worker.next_batch();
        break;
      case Kind::kSpawn: {
        const auto number = static_cast<size_t>(std::get<ThreadStart>(action.what).thread);
        made = worker.spawn([&rank, number, requests](Worker& spawned) {
          replay_thread(spawned, rank, number, requests);
        });
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
    if (action.id >= 0) (*requests)[action.id] = std::move(made);
  }
}

}  // namespace

void replay_rank(Worker& worker, const ProgramRank& rank) {
  replay_thread(worker, rank, 0, std::make_shared<Requests>());
}

}  // namespace forescale
