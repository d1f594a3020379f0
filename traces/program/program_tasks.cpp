#include "traces/program/program_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/error.hpp"

namespace forescale {
namespace {

using Kind = Action::Kind;
using Needs = std::vector<std::uint32_t>;

constexpr std::size_t kNeedsMax = 8;  // of one task: more are joined first

// Runs the threads without time: each until it waits for what is not there yet.
class Lowering {
 public:
  Lowering(const Program& program, int rank)
      : program_(program),
        rank_(rank),
        threads_(program.ranks[static_cast<std::size_t>(rank)].threads) {}

  ProgramTasks run() {
    states_.resize(threads_.size());
    states_.front().is_started = true;
    for (bool moves = true; moves;) {
      moves = false;
      for (std::size_t thread = 0; thread < threads_.size(); ++thread)
        moves = advance(thread) || moves;
    }
    for (std::size_t thread = 0; thread < threads_.size(); ++thread)
      if (states_[thread].is_started && states_[thread].at < threads_[thread].actions.size())
        throw InputError({.source = "the program",
                          .path = fmt::format("rank {}, thread {}", rank_, thread),
                          .value = "",
                          .constraint = "waits for what never comes"});
    return std::move(found_);
  }

 private:
  struct State {
    bool is_started = false;
    std::size_t at = 0;
    Needs needs;    // what the thread has waited for
    int ends = -1;  // request that is complete when it has ended
  };

  bool advance(std::size_t thread) {
    State& state = states_[thread];
    const ActionList& actions = threads_[thread].actions;
    bool moves = false;
    while (state.is_started && state.at < actions.size()) {
      if (!act(static_cast<int>(thread), actions[state.at])) return moves;
      ++states_[thread].at;
      moves = true;
    }
    if (state.is_started && state.at == actions.size() && state.ends >= 0) {
      complete_[state.ends] = state.needs;
      state.ends = -1;
      moves = true;
    }
    return moves;
  }

  // False where it has to wait.
  bool act(int thread, Action action) {
    Needs& needs = states_[static_cast<std::size_t>(thread)].needs;
    switch (action.kind) {
      case Kind::kWait:
      case Kind::kWaitAny: {
        if (action.kind == Kind::kWaitAny) ++found_.choices;
        const auto done = complete_.find(action.requests.front());
        if (done == complete_.end()) return false;
        for (const std::uint32_t task : done->second) add(needs, task);
        return true;
      }
      case Kind::kSet:
        complete_[action.requests.front()] = needs;
        return true;
      case Kind::kSpawn: {
        State& started =
            states_[static_cast<std::size_t>(std::get<ThreadStart>(action.what).thread)];
        started.is_started = true;
        started.needs = needs;
        started.ends = action.id;
        return true;
      }
      case Kind::kTest:
        ++found_.choices;
        return true;
      case Kind::kSignal:
      case Kind::kEndIteration:
        return true;
      case Kind::kNextBatch:
        complete_[action.id] = needs;
        return true;
      default:
        start(thread, std::move(action), needs);
        return true;
    }
  }

  void start(int thread, Action action, const Needs& needs) {
    ProgramTask task{.needs = needs, .thread = thread, .kind = action.kind, .what = {}};
    if (const auto* kernel = std::get_if<Kernel>(&action.what)) {
      const auto [last, is_first] = last_of_stream_.try_emplace(kernel->stream, 0);
      if (!is_first) add(task.needs, last->second);
      last->second = static_cast<std::uint32_t>(found_.tasks.size());
    }
    if (auto* step = std::get_if<CollectiveStep>(&action.what))
      if (const auto known = program_.groups.find(step->communicator);
          step->group == nullptr && known != program_.groups.end())
        step->group = known->second[static_cast<std::size_t>(rank_)];
    task.what = std::move(action.what);
    complete_[action.id] = {static_cast<std::uint32_t>(found_.tasks.size())};
    found_.tasks.push_back(std::move(task));
  }

  // What `task` needed itself need not be said again.
  void add(Needs& needs, std::uint32_t task) {
    if (std::find(needs.begin(), needs.end(), task) != needs.end()) return;
    const Needs& own = found_.tasks[task].needs;
    std::erase_if(needs, [&](std::uint32_t known) {
      return std::find(own.begin(), own.end(), known) != own.end();
    });
    needs.push_back(task);
    if (needs.size() <= kNeedsMax) return;
    found_.tasks.push_back({.needs = needs});
    needs = {static_cast<std::uint32_t>(found_.tasks.size() - 1)};
  }

  const Program& program_;
  const int rank_;
  const std::vector<ProgramThread>& threads_;
  std::vector<State> states_;
  std::unordered_map<int, Needs> complete_;  // by request: when these are done
  std::map<int, std::uint32_t> last_of_stream_;
  ProgramTasks found_;
};

}  // namespace

ProgramTasks tasks_of(const Program& program, int rank) {
  if (!program.schedule.empty())
    throw InputError({.source = "the program",
                      .path = "",
                      .value = program.schedule,
                      .constraint = "is a schedule that follows arrivals: what its ranks do has no "
                                    "fixed order that could be written"});
  return Lowering(program, rank).run();
}

std::vector<int> members_of(const Program& program, const CollectiveStep& step) {
  if (step.group != nullptr) return *step.group;
  std::vector<int> all(static_cast<std::size_t>(program.workers));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace forescale
