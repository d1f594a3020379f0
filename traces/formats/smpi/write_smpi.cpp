#include "traces/formats/smpi/write_smpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "base/error.hpp"
#include "traces/program/program_tasks.hpp"

namespace forescale {
namespace {

using Kind = Action::Kind;

class SmpiRankWriter {
 public:
  SmpiRankWriter(const Program& program, int rank, double flops_per_s, std::ostream& out)
      : program_(program), rank_(rank), flops_per_s_(flops_per_s), out_(out) {}

  void write(SmpiExport& totals) {
    ProgramTasks all = tasks_of(program_, rank_);
    tasks_ = std::move(all.tasks);
    is_open_.assign(tasks_.size(), false);
    say("init");
    for (std::size_t at = 0; at < tasks_.size(); ++at) {
      for (const std::uint32_t needed : tasks_[at].needs) finish(needed);
      write(at);
      lanes_.insert(lane_of(tasks_[at]));
    }
    for (std::size_t at = 0; at < tasks_.size(); ++at) finish(static_cast<std::uint32_t>(at));
    say("finalize");
    totals.actions += actions_;
  }

  // Work that could run side by side, and does not in such a trace.
  bool is_parallel() const { return lanes_.size() > 2; }

 private:
  void say(const std::string& action) {
    out_ << rank_ << ' ' << action << '\n';
    ++actions_;
  }

  // Nothing, and one lane of work.
  static std::pair<int, int> lane_of(const ProgramTask& task) {
    if (const auto* kernel = std::get_if<Kernel>(&task.what)) return {1, kernel->stream};
    if (std::holds_alternative<HostWork>(task.what)) return {2, task.thread};
    return {0, 0};
  }

  // Waits for a message that is under way, and for what a join stands for.
  void finish(std::uint32_t task) {
    if (tasks_[task].kind == Kind::kSignal)
      for (const std::uint32_t needed : tasks_[task].needs) finish(needed);
    if (!is_open_[task]) return;
    is_open_[task] = false;
    const auto& message = std::get<MessageStep>(tasks_[task].what);
    const bool sends = tasks_[task].kind != Kind::kReceive;
    say(fmt::format("wait {} {} {}", sends ? rank_ : message.peer, sends ? message.peer : rank_,
                    message.tag));
  }

  void write(std::size_t at) {
    const ProgramTask& task = tasks_[at];
    if (const auto* kernel = std::get_if<Kernel>(&task.what))
      return say(fmt::format("compute {:.0f}", kernel->duration_s * flops_per_s_));
    if (const auto* work = std::get_if<HostWork>(&task.what))
      return say(fmt::format("compute {:.0f}", work->duration_s * flops_per_s_));
    if (const auto* timer = std::get_if<Timer>(&task.what))
      return say(fmt::format("sleep {}", timer->delay_s));
    if (const auto* message = std::get_if<MessageStep>(&task.what)) {
      const bool sends = task.kind != Kind::kReceive;
      is_open_[at] = true;
      return say(fmt::format("{} {} {} {}", sends ? "isend" : "irecv", message->peer, message->tag,
                             message->bytes));
    }
    if (const auto* step = std::get_if<CollectiveStep>(&task.what)) collective(*step);
  }

  void collective(const CollectiveStep& step) {
    const std::vector<int> members = members_of(program_, step);
    const auto ranks = static_cast<std::int64_t>(members.size());
    if (members.size() != program_.ranks.size() || !std::is_sorted(members.begin(), members.end()))
      throw InputError({.source = "smpi",
                        .path = fmt::format("rank {}", rank_),
                        .value = fmt::format("{} of {} ranks", name_of(step.op), ranks),
                        .constraint = "cannot be written: SMPI's replay has all ranks in every "
                                      "collective"});
    const std::int64_t part = step.bytes / ranks;
    switch (step.op) {
      case CollectiveOp::kAllReduce:
        return say(step.bytes == 0 ? "barrier" : fmt::format("allreduce {} 0", step.bytes));
      case CollectiveOp::kReduce:
        return say(fmt::format("reduce {} 0 {}", step.bytes, step.root));
      case CollectiveOp::kBroadcast:
        return say(fmt::format("bcast {} {}", step.bytes, step.root));
      case CollectiveOp::kAllToAll:
        return say(fmt::format("alltoall {} {}", part, part));
      case CollectiveOp::kAllGather:
        return say(fmt::format("allgather {} {}", part, part));
      case CollectiveOp::kGather:
        return say(fmt::format("gather {} {} {}", part, part, step.root));
      case CollectiveOp::kScatter:
        return say(fmt::format("scatter {} {} {}", part, part, step.root));
      case CollectiveOp::kReduceScatter: {
        std::string parts;
        for (std::int64_t rank = 0; rank < ranks; ++rank) parts += fmt::format("{} ", part);
        return say(fmt::format("reducescatter {}0", parts));
      }
      default:
        throw InputError({.source = "smpi",
                          .path = fmt::format("rank {}", rank_),
                          .value = name_of(step.op),
                          .constraint = "is no collective of SMPI's replay"});
    }
  }

  const Program& program_;
  const int rank_;
  const double flops_per_s_;
  std::ostream& out_;
  std::vector<ProgramTask> tasks_;
  std::vector<bool> is_open_;  // messages that are under way
  std::set<std::pair<int, int>> lanes_;
  std::uint64_t actions_ = 0;
};

}  // namespace

SmpiExport write_smpi(const Program& program, double flops_per_s, std::ostream& out) {
  SmpiExport totals;
  bool is_parallel = false;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    SmpiRankWriter writer(program, static_cast<int>(rank), flops_per_s, out);
    writer.write(totals);
    is_parallel = is_parallel || writer.is_parallel();
  }
  totals.notes.push_back(fmt::format(
      "work is in operations of {:g} a second: give SMPI's hosts that speed", flops_per_s));
  totals.notes.emplace_back("additions of reductions cost nothing");
  if (is_parallel)
    totals.notes.emplace_back(
        "ranks have several streams, and collectives beside them: one after the other in such a "
        "trace, so that SMPI takes longer");
  return totals;
}

}  // namespace forescale
