// What is at its default is left out.
#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <unordered_map>

#include "algorithms/job_json.hpp"
#include "base/progress.hpp"
#include "models/compute/gpu_kernel_json.hpp"
#include "traces/program/action_kind.hpp"
#include "traces/program/program.hpp"

namespace forescale {
namespace {

using nlohmann::json;

template <class T>
void put(json& line, const char* key, const T& value, const T& fallback) {
  if (value != fallback) line[key] = value;
}

void write(json& line, const std::monostate& /*nothing*/) { (void)line; }
void write(json& line, const Kernel& kernel) {
  put(line, "stream", kernel.stream, 0);
  line["duration_s"] = kernel.duration_s;
  line["phase"] = name_of(kernel.phase);
  line["label"] = kernel.label;
  if (kernel.work == nullptr) return;
  for (const GpuKernel& asked : *kernel.work) line["work"].push_back(to_json(asked));
}
void write(json& line, const CollectiveStep& step) {
  line["op"] = name_of(step.op);
  line["bytes"] = step.bytes;
  put(line, "root", step.root, 0);
  put(line, "communicator", step.communicator, 0);
  line["phase"] = name_of(step.phase);
  line["label"] = step.label;
  if (step.group != nullptr) line["group"] = *step.group;
  put(line, "on_host", step.on_host, false);
  put(line, "value", step.value, std::int64_t{0});
  put(line, "control", step.control, false);
  put(line, "message", step.is_message, false);
}
void write(json& line, const MessageStep& step) {
  line["peer"] = step.peer;
  line["bytes"] = step.bytes;
  put(line, "tag", step.tag, 0);
  line["phase"] = name_of(step.phase);
  line["label"] = step.label;
  put(line, "on_host", step.on_host, false);
  put(line, "value", step.value, std::int64_t{0});
  put(line, "control", step.control, false);
}
void write(json& line, const HostWork& work) {
  line["duration_s"] = work.duration_s;
  put(line, "memory_bytes", work.memory_bytes, 0.0);
  line["phase"] = name_of(work.phase);
  line["label"] = work.label;
}
void write(json& line, const HostCopy& copy) {
  line["bytes"] = copy.bytes;
  line["to_host"] = copy.to_host;
  line["phase"] = name_of(copy.phase);
  line["label"] = copy.label;
}
void write(json& line, const Timer& timer) {
  line["delay_s"] = timer.delay_s;
  if (timer.what != Timer::For::kTimer) line["what"] = name_of(timer.what);
}
void write(json& line, const ThreadStart& start) { line["starts"] = start.thread; }

json to_json(const Action& action) {
  json line{{"do", name_of(action.kind)}};
  if (action.id >= 0) line["id"] = action.id;
  if (!action.requests.empty()) line["for"] = action.requests;
  std::visit([&](const auto& what) { write(line, what); }, action.what);
  return line;
}

// Calls `take` with every line of a rank, which may be too many to hold.
void for_each_line(const ProgramRank& rank, const std::function<void(const std::string&)>& take) {
  for (size_t thread = 0; thread < rank.threads.size(); ++thread)
    for (const Action& action : rank.threads[thread].actions) {
      json line = to_json(action);
      if (thread > 0) line["thread"] = thread;
      take(line.dump());
    }
}

// Finds ranks that do the same: lists that are one in memory, or else lines that are.
class Ranks {
 public:
  explicit Ranks(const std::vector<ProgramRank>& ranks) : ranks_(ranks) {}

  // The first rank that does the same as this one, which may be itself. In order, each once.
  size_t first_like(size_t rank) {
    std::vector<const void*> lists;
    size_t sizes = 0;
    for (const ProgramThread& thread : ranks_[rank].threads) {
      lists.push_back(thread.actions.identity());
      sizes = sizes * 31 + thread.actions.size();
    }
    const auto [shared, is_new] = by_lists_.try_emplace(std::move(lists), rank);
    if (!is_new) return shared->second;
    for (const size_t other : by_sizes_[sizes])
      if (hash(other) == hash(rank) && are_alike(other, rank)) return shared->second = other;
    by_sizes_[sizes].push_back(rank);
    return rank;
  }

 private:
  size_t hash(size_t rank) {
    const auto [known, is_new] = hashes_.try_emplace(rank, 0);
    if (is_new)
      for_each_line(ranks_[rank], [&hash = known->second](const std::string& line) {
        hash = hash * 31 + std::hash<std::string>()(line);
      });
    return known->second;
  }

  bool are_alike(size_t a, size_t b) const {
    const auto& of_a = ranks_[a].threads;
    const auto& of_b = ranks_[b].threads;
    return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                      [](const ProgramThread& one, const ProgramThread& other) {
                        return std::equal(one.actions.begin(), one.actions.end(),
                                          other.actions.begin(), other.actions.end(),
                                          [](const Action& action, const Action& like) {
                                            return to_json(action) == to_json(like);
                                          });
                      });
  }

  const std::vector<ProgramRank>& ranks_;
  std::map<std::vector<const void*>, size_t> by_lists_;
  std::unordered_map<size_t, std::vector<size_t>> by_sizes_;
  std::unordered_map<size_t, size_t> hashes_;
};

json header_of(const Program& program) {
  json header{{"format", kProgramFormat},         {"title", program.title},
              {"ranks", program.ranks.size()},    {"workers", program.workers},
              {"iterations", program.iterations}, {"images", program.images}};
  put(header, "servers_have_nodes", program.servers_have_nodes, false);
  put(header, "is_asynchronous", program.is_asynchronous, false);
  put(header, "slowed_kernels", program.has_slowed_kernels, false);
  put(header, "value_bytes", program.value_bytes, std::int64_t{4});
  for (const auto& [key, text] :
       {std::pair("platform", &program.platform), std::pair("stack", &program.stack),
        std::pair("placement", &program.placement), std::pair("data", &program.data),
        std::pair("noise", &program.noise), std::pair("stragglers", &program.stragglers)})
    put(header, key, *text, std::string());
  for (const auto& [op, plan] : program.plans) header["plans"][name_of(op)] = plan;
  put(header, "schedule", program.schedule, std::string());
  for (const auto& [communicator, by_rank] : program.groups) {
    json& groups = header["groups"][std::to_string(communicator)];
    std::set<const void*> written;
    for (const RankGroup& group : by_rank)
      if (group != nullptr && written.insert(group.get()).second) groups.push_back(*group);
  }
  return header;
}

// A rank that trains the same as an earlier one names it.
void write_jobs(const Program& program, std::ostream& out) {
  std::map<std::string, size_t> written;
  for (size_t rank = 0; rank < program.jobs.size(); ++rank) {
    const json job = job_to_json(*program.jobs[rank]);
    const auto [first, is_new] = written.try_emplace(job.dump(), rank);
    json line{{"rank", rank}};
    if (is_new)
      line["job"] = job;
    else
      line["same_as"] = first->second;
    out << line.dump() << '\n';
  }
}

}  // namespace

void write_program(const Program& program, std::ostream& out) {
  out << header_of(program).dump() << '\n';
  if (!program.schedule.empty()) return write_jobs(program, out);
  Ranks ranks(program.ranks);
  ProgressLine progress("writing ranks", program.ranks.size());
  for (size_t rank = 0; rank < program.ranks.size(); ++rank) {
    progress.done(rank);
    const size_t first = ranks.first_like(rank);
    json line{{"rank", rank}};
    if (first != rank) line["same_as"] = first;
    out << line.dump() << '\n';
    if (first == rank)
      for_each_line(program.ranks[rank], [&](const std::string& text) { out << text << '\n'; });
  }
}

}  // namespace forescale
