// GOAL schedules (LogGOPSim; Hoefler, Schneider, Lumsdaine 2010): all ranks in one file, each a
// graph of computations, sends and receives. A rank's graph becomes threads that start requests
// and tell each other by signals that they have.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/registry.hpp"
#include "traces/formats/goal/goal_reader.hpp"
#include "traces/formats/goal/goal_threads.hpp"
#include "traces/formats/trace_format.hpp"
#include "traces/program/program_writer.hpp"

namespace forescale {
namespace {

using Kind = Action::Kind;

constexpr double kNanosecond_s = 1e-9;
constexpr double kSecondsMax = 1e9;  // as in a program
constexpr std::uint32_t kThreadsMax = 1 << 16;

// The program of one rank.
class RankImport {
 public:
  RankImport(const GoalReader& reader, const GoalRank& rank, double unit_s, ProgramRank& program)
      : rank_(rank),
        unit_s_(unit_s),
        graph_(checked(reader, rank)),
        threads_(graph_),
        writer_(program),
        requests_(rank.tasks.size(), kNone),
        signals_(rank.tasks.size(), kNone),
        is_waited_for_(rank.tasks.size()),
        has_own_wait_(rank.tasks.size()) {
    if (threads_.count() > kThreadsMax)
      reader.fail(rank.tasks.back().line,
                  fmt::format("rank {} has more than {} tasks that wait for different ones at once",
                              rank.number, kThreadsMax));
    std::set<int> cpus;
    for (const GoalTask& task : rank.tasks)
      if (task.kind == GoalTask::Kind::kCompute && task.amount > 0) cpus.insert(task.cpu);
    is_parallel_ = cpus.size() > 1;
  }

  bool is_parallel() const { return is_parallel_; }

  void write() {
    std::vector<int> ends;
    make_signals();
    for (std::uint32_t thread = 1; thread < threads_.count(); ++thread)
      ends.push_back(writer_.spawn(0).id);
    for (const std::uint32_t task : graph_.order()) {
      for (const GoalGraph::Edge& edge : graph_.before(task)) wait(thread_of(task), edge);
      requests_[task] = start(thread_of(task), rank_.tasks[task]);
      if (signals_[task] != kNone) writer_.set(thread_of(task), signals_[task]);
    }
    for (const std::uint32_t task : graph_.order())
      if (!is_waited_for_[task]) writer_.wait(thread_of(task), requests_[task]);
    for (const int end : ends) writer_.wait(0, end);
    writer_.end_iteration();
  }

 private:
  static constexpr int kNone = -1;

  static GoalGraph checked(const GoalReader& reader, const GoalRank& rank) {
    GoalGraph graph(rank.tasks.size(), rank.dependencies);
    if (graph.is_cyclic())
      reader.fail(rank.tasks[graph.task_in_cycle()].line, "is a task that depends on itself");
    return graph;
  }

  int thread_of(std::uint32_t task) const { return static_cast<int>(threads_.of(task)); }

  // One for each task that another thread must know to have started.
  void make_signals() {
    for (const std::uint32_t task : graph_.order())
      for (const GoalGraph::Edge& edge : graph_.before(task))
        if (thread_of(task) != thread_of(edge.task) && signals_[edge.task] == kNone)
          signals_[edge.task] = writer_.start(0, Kind::kSignal);
  }

  void wait(int thread, const GoalGraph::Edge& edge) {
    const bool is_own = thread == thread_of(edge.task);
    if (!is_own) writer_.wait(thread, signals_[edge.task]);
    if (edge.on_start) return;
    if (is_own && has_own_wait_[edge.task]) return;
    writer_.wait(thread, requests_[edge.task]);
    is_waited_for_[edge.task] = true;
    if (is_own) has_own_wait_[edge.task] = true;
  }

  int start(int thread, const GoalTask& task) {
    if (task.kind != GoalTask::Kind::kCompute)
      return writer_.start(thread,
                           task.kind == GoalTask::Kind::kSend ? Kind::kSend : Kind::kReceive,
                           MessageStep{.peer = task.peer,
                                       .bytes = static_cast<std::int64_t>(task.amount),
                                       .tag = task.tag,
                                       .phase = Phase::kAggregation,
                                       .label = "message",
                                       .on_host = true});
    const double duration_s = static_cast<double>(task.amount) * unit_s_;
    if (is_parallel_)
      return writer_.start(
          thread, Kind::kHostWork,
          HostWork{.duration_s = duration_s, .phase = Phase::kForward, .label = "calc"});
    return writer_.start(thread, Kind::kKernel,
                         Kernel{.stream = task.cpu,
                                .duration_s = duration_s,
                                .phase = Phase::kForward,
                                .label = "calc"});
  }

  const GoalRank& rank_;
  double unit_s_;
  GoalGraph graph_;
  GoalThreads threads_;
  ProgramWriter writer_;
  std::vector<int> requests_;        // by task
  std::vector<int> signals_;         // that it has started; kNone: nobody asks
  std::vector<bool> is_waited_for_;  // by any thread
  std::vector<bool> has_own_wait_;   // by its own
  bool is_parallel_ = false;
};

// What is sent between two ranks with one tag, less what is received.
struct Balance {
  std::int64_t messages = 0;
  std::uint64_t bytes = 0;  // modulo 2^64
  std::uint32_t line = 0;   // of the last of them
};

class GoalImporter {
 public:
  GoalImporter(const std::string& file, const ImportOptions& options)
      : reader_(file), unit_s_(options.cycle_s > 0 ? options.cycle_s : kNanosecond_s) {
    const auto ranks = static_cast<std::size_t>(reader_.rank_count());
    require_ranks(options, ranks);
    Program& program = result_.program;
    program.title = title_of(file);
    program.workers = reader_.rank_count();
    program.iterations = 1;
    program.images.assign(ranks, options.images);
    program.ranks.resize(ranks);
    is_unit_given_ = options.cycle_s > 0;
  }

  ImportedTrace import() {
    while (const auto rank = reader_.next_rank()) {
      for (const GoalTask& task : rank->tasks) count(rank->number, task);
      RankImport one(reader_, *rank, unit_s_,
                     result_.program.ranks[static_cast<std::size_t>(rank->number)]);
      one.write();
      if (one.is_parallel()) ++parallel_ranks_;
    }
    check_balances();
    if (result_.found.kernels > 0 && !is_unit_given_)
      result_.notes.emplace_back(
          "calcs are taken in nanoseconds, the unit in which LogGOPSim gives its times (its "
          "README); --cycle sets another");
    if (parallel_ranks_ > 0)
      result_.notes.push_back(fmt::format(
          "{} ranks compute on several CPUs: their calcs are work of host threads side by side; "
          "those of one CPU follow each other only where the file says so",
          parallel_ranks_));
    return std::move(result_);
  }

 private:
  // Sender, receiver, tag.
  using Channel = std::tuple<int, int, int>;

  void count(int rank, const GoalTask& task) {
    if (task.kind == GoalTask::Kind::kCompute) {
      const double duration_s = static_cast<double>(task.amount) * unit_s_;
      if (duration_s > kSecondsMax)
        reader_.fail(task.line, fmt::format("takes {} s, which is too long", duration_s));
      ++result_.found.kernels;
      result_.found.compute_s += duration_s;
      return;
    }
    const bool sends = task.kind == GoalTask::Kind::kSend;
    const Channel channel{sends ? rank : task.peer, sends ? task.peer : rank, task.tag};
    Balance& balance = balances_[channel];
    balance.line = task.line;
    balance.messages += sends ? 1 : -1;
    balance.bytes += sends ? task.amount : -task.amount;
    if (balance.messages == 0 && balance.bytes == 0) balances_.erase(channel);
    if (!sends) return;
    ++result_.found.messages.count;
    result_.found.messages.bytes += static_cast<double>(task.amount);
  }

  void check_balances() const {
    if (balances_.empty()) return;
    const auto& [channel, balance] = *balances_.begin();
    const auto [source, destination, tag] = channel;
    reader_.fail(balance.line,
                 fmt::format("is among the messages from rank {} to rank {} with this tag: of all "
                             "ranks together, {:+} more messages and {:+} more bytes are sent than "
                             "received",
                             source, destination, balance.messages,
                             static_cast<std::int64_t>(balance.bytes)));
  }

  GoalReader reader_;
  double unit_s_;
  bool is_unit_given_ = false;
  ImportedTrace result_;
  std::map<Channel, Balance> balances_;  // that are not even
  std::uint64_t parallel_ranks_ = 0;
};

bool begins_with_rank_count(const std::string& head) {
  const std::size_t begin = std::min(head.find_first_not_of(" \t\r\n"), head.size());
  if (head.compare(begin, 2, "//") == 0 || head.compare(begin, 2, "/*") == 0)
    return head.find("num_ranks") != std::string::npos;
  return head.compare(begin, 9, "num_ranks") == 0;
}

const bool kGoalRegistered = Registry<TraceFormat>::add(
    {.name = "goal",
     .description = "GOAL schedules of LogGOPSim, in text",
     .reads = {"--ranks", "--cycle", "--batch"},
     .detects = [](const std::string& /*file*/,
                   const std::string& head) { return begins_with_rank_count(head); },
     .import =
         [](const std::vector<std::string>& files, const ImportOptions& options) {
           if (files.size() != 1)
             throw InputError({.source = files.empty() ? "" : files[1],
                               .path = "",
                               .value = "",
                               .constraint = "is one file too many: a GOAL file has all ranks"});
           return GoalImporter(files.front(), options).import();
         }});

}  // namespace
}  // namespace forescale
