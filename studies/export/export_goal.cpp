#include "studies/export/export_goal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>

#include "base/error.hpp"
#include "base/progress.hpp"
#include "sim/engine/lanes.hpp"
#include "sim/resolved_call.hpp"
#include "traces/program/program_tasks.hpp"

namespace forescale {
namespace {

constexpr double kNs_per_second = 1e9;
constexpr int kTagsMax = 1 << 30;
constexpr int kMessageTags = 1 << 20;  // below: the program's own messages

// What all ranks share: a number for the k-th message of a pair in the n-th collective of a group.
class CollectiveTags {
 public:
  int of(const std::string& collective, std::uint64_t message) {
    const auto [known, is_new] = tags_.try_emplace({collective, message}, next_);
    if (is_new && ++next_ >= kTagsMax)
      throw InputError({.source = "GOAL",
                        .path = "",
                        .value = "",
                        .constraint = "has no tags left for so many messages"});
    return known->second;
  }

 private:
  std::map<std::pair<std::string, std::uint64_t>, int> tags_;
  int next_ = kMessageTags;
};

struct GoalSetting {
  const Program& program;
  const Platform& platform;
  const Lanes& lanes;
  const std::map<CollectiveOp, PlanChoice>& choices;
  CollectiveTags& tags;
};

// The tasks of one rank as GOAL's: lines of text, numbered from 0.
class GoalRankWriter {
 public:
  GoalRankWriter(GoalSetting& setting, int rank, GoalExport& totals, std::ostream& out)
      : setting_(setting), rank_(rank), totals_(totals), out_(out) {}

  void write() {
    const ProgramTasks all = tasks_of(setting_.program, rank_);
    choices_ = all.choices;
    out_ << fmt::format("\nrank {} {{\n", rank_);
    for (const ProgramTask& task : all.tasks) done_.push_back(write(task));
    out_ << "}\n";
  }

  std::uint64_t choices() const { return choices_; }
  std::uint64_t copies() const { return copies_; }

 private:
  using Label = std::uint64_t;

  // The label of the task that is done when all of it is.
  Label write(const ProgramTask& task) {
    std::vector<Label> needs;
    for (const std::uint32_t needed : task.needs) needs.push_back(done_[needed]);
    if (const auto* kernel = std::get_if<Kernel>(&task.what))
      return calc(kernel->duration_s, cpu_of({1, kernel->stream}), needs);
    if (const auto* work = std::get_if<HostWork>(&task.what))
      return calc(work->duration_s, cpu_of({0, task.thread}), needs);
    if (const auto* timer = std::get_if<Timer>(&task.what))
      return calc(timer->delay_s, cpu_of({0, task.thread}), needs);
    if (const auto* message = std::get_if<MessageStep>(&task.what)) {
      if (message->tag >= kMessageTags)
        throw InputError({.source = "GOAL",
                          .path = "",
                          .value = fmt::format("tag {}", message->tag),
                          .constraint = fmt::format("must be below {}", kMessageTags)});
      return transfer(task.kind != Action::Kind::kReceive, message->bytes, message->peer,
                      message->tag, needs);
    }
    if (const auto* step = std::get_if<CollectiveStep>(&task.what)) return collective(*step, needs);
    if (std::holds_alternative<HostCopy>(task.what)) ++copies_;
    return calc(0, 0, needs);
  }

  Label line(const std::string& what, const std::vector<Label>& needs) {
    out_ << fmt::format("l{}: {}\n", next_, what);
    for (const Label needed : needs) out_ << fmt::format("l{} requires l{}\n", next_, needed);
    ++totals_.tasks;
    return next_++;
  }

  Label calc(double duration_s, int cpu, const std::vector<Label>& needs) {
    return line(fmt::format("calc {} cpu {}", std::llround(duration_s * kNs_per_second), cpu),
                needs);
  }

  Label transfer(bool sends, std::int64_t bytes, int peer, int tag,
                 const std::vector<Label>& needs) {
    if (sends) {
      ++totals_.messages;
      totals_.bytes += static_cast<double>(bytes);
    }
    return line(sends ? fmt::format("send {}b to {} tag {}", bytes, peer, tag)
                      : fmt::format("recv {}b from {} tag {}", bytes, peer, tag),
                needs);
  }

  Label collective(const CollectiveStep& step, const std::vector<Label>& needs) {
    const std::vector<int> members = members_of(setting_.program, step);
    const auto choice = setting_.choices.find(step.op);
    const ResolvedCall resolved =
        resolve(setting_.lanes, shared_group(setting_.platform, members),
                {.op = step.op,
                 .bytes = step.bytes,
                 .root = step.root,
                 .plan = choice == setting_.choices.end() ? nullptr : &choice->second,
                 .place = step.on_host ? std::optional(BufferPlace::kHost) : std::nullopt,
                 .element_bytes = setting_.program.value_bytes});
    std::string name = fmt::format("{}", step.communicator);
    for (const int member : members) name += fmt::format(" {}", member);
    const std::uint64_t number = calls_[name]++;
    const auto own = static_cast<std::size_t>(std::find(members.begin(), members.end(), rank_) -
                                              members.begin());
    const std::vector<std::vector<int>> parts = resolved.parts();
    std::vector<Label> ends;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      CollectiveCall call = resolved.call;
      call.bytes = block_range(resolved.call.bytes, static_cast<std::int64_t>(parts.size()),
                               static_cast<std::int64_t>(part), call.element_bytes)
                       .bytes;
      if (call.bytes == 0 && part > 0) break;
      std::vector<int> ranks;  // by role
      int role = 0;
      for (std::size_t i = 0; i < parts[part].size(); ++i) {
        const int member = parts[part][i];
        ranks.push_back(members[static_cast<std::size_t>(member)]);
        if (member == static_cast<int>(own)) role = static_cast<int>(i);
        if (member == resolved.call.root) call.root = static_cast<int>(i);
      }
      run_plan(message_plan(*resolved.collective, call, role), ranks,
               fmt::format("{} #{} part {}", name, number, part), needs, ends);
    }
    return ends.empty() ? calc(0, 0, needs) : calc(0, 0, ends);
  }

  // One operation of a plan that others of the rank may have to wait for.
  struct Done {
    std::uint64_t at = 0;  // place in the stream
    Label label = 0;
  };

  // Operations that are posted in order, each after the one before has begun: what one waited for
  // need not be said again.
  struct Posted {
    std::optional<Label> last = {};
    std::size_t received = 0;  // that were waited for
    std::size_t sent = 0;
  };

  // What the contract of a stream (algorithms/plan.hpp) says, as dependencies.
  void run_plan(OpStream stream, const std::vector<int>& ranks, const std::string& name,
                const std::vector<Label>& needs, std::vector<Label>& ends) {
    std::map<std::pair<int, bool>, std::uint64_t> messages;  // by peer and direction
    std::vector<Done> received;                              // and copied
    std::vector<Done> sent;
    std::map<OpKind, Posted> posted;  // additions count as receives
    for (std::uint64_t at = 0; stream.next(); ++at) {
      const Op& op = stream.op();
      const bool sends = op.kind == OpKind::kSend;
      Posted& own = posted[op.kind == OpKind::kRecvReduce ? OpKind::kRecv : op.kind];
      std::vector<Label> before;
      if (!own.last) before = needs;
      const auto wait_for = [&](const std::vector<Done>& some, std::size_t& waited, int distance) {
        for (; distance > 0 && waited < some.size() &&
               some[waited].at + static_cast<std::uint64_t>(distance) <= at;
             ++waited)
          before.push_back(some[waited].label);
      };
      wait_for(received, own.received, op.after);
      if (!sends) wait_for(sent, own.sent, op.write_after);
      Label label = 0;
      if (op.kind == OpKind::kCopy) {
        label = calc(0, 0, before);
      } else {
        const int peer = ranks[static_cast<std::size_t>(op.peer)];
        const int from = sends ? rank_ : peer;
        const int to = sends ? peer : rank_;
        const int tag = setting_.tags.of(fmt::format("{} from {} to {}", name, from, to),
                                         messages[{op.peer, sends}]++);
        label = transfer(sends, op.bytes, peer, tag, before);
      }
      if (own.last) out_ << fmt::format("l{} irequires l{}\n", label, *own.last);
      own.last = label;
      (sends ? sent : received).push_back({at, label});
    }
    for (const auto& some : {received, sent})
      for (const Done& done : some) ends.push_back(done.label);
  }

  int cpu_of(const std::pair<int, int>& lane) {
    return cpus_.try_emplace(lane, static_cast<int>(cpus_.size())).first->second;
  }

  GoalSetting& setting_;
  const int rank_;
  GoalExport& totals_;
  std::ostream& out_;
  std::vector<Label> done_;  // by the program's task
  Label next_ = 0;
  std::map<std::pair<int, int>, int> cpus_;     // host threads and streams
  std::map<std::string, std::uint64_t> calls_;  // by communicator
  std::uint64_t choices_ = 0;
  std::uint64_t copies_ = 0;
};

}  // namespace

GoalExport export_goal(const Program& program, const Platform& platform, const Stack& stack,
                       const std::map<CollectiveOp, PlanChoice>& choices, std::ostream& out) {
  const Lanes lanes(platform, stack);
  CollectiveTags tags;
  GoalSetting setting{program, platform, lanes, choices, tags};
  GoalExport totals;
  std::uint64_t looks = 0;
  std::uint64_t copies = 0;
  out << fmt::format("num_ranks {}\n", program.ranks.size());
  ProgressLine progress("writing GOAL", program.ranks.size());
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    GoalRankWriter writer(setting, static_cast<int>(rank), totals, out);
    writer.write();
    looks += writer.choices();
    copies += writer.copies();
    progress.done(rank + 1);
  }
  totals.notes.emplace_back(
      "times are nanoseconds; additions and calls of collectives cost nothing");
  if (copies > 0)
    totals.notes.push_back(
        fmt::format("{} copies between GPU and host are in it without their time", copies));
  if (looks > 0)
    totals.notes.push_back(fmt::format(
        "{} times a rank looks what has come first: written as if it were what is named first",
        looks));
  return totals;
}

}  // namespace forescale
