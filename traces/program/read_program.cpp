#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <istream>
#include <optional>

#include "algorithms/job_json.hpp"
#include "base/error.hpp"
#include "traces/program/action.hpp"
#include "traces/program/program.hpp"
#include "traces/program/read_action.hpp"

namespace forescale {
namespace {

using Kind = Action::Kind;

class ProgramReader {
 public:
  ProgramReader(std::istream& in, const std::string& file) : in_(in), file_(file) {}

  Program read() {
    read_header();
    while (const auto line = next_line()) read_rank_line(*line);
    for (size_t rank = 0; rank < program_.ranks.size(); ++rank) {
      if (!seen_[rank]) refuse(fmt::format("rank {} is missing", rank));
      const size_t model = model_of_[rank];
      const bool is_checked = model < rank && is_worker(model) == is_worker(rank);
      if (!is_checked && schedule_ == nullptr) check(rank);
    }
    return std::move(program_);
  }

 private:
  bool is_worker(size_t rank) const { return rank < static_cast<size_t>(program_.workers); }

  [[noreturn]] void refuse(const std::string& constraint) const {
    throw InputError({.source = file_,
                      .path = fmt::format("line {}", number_),
                      .value = "",
                      .constraint = constraint});
  }

  std::optional<JsonInput> next_line() {
    std::string text;
    while (std::getline(in_, text)) {
      ++number_;
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      return JsonInput::from_text(text, fmt::format("{} line {}", file_, number_));
    }
    if (in_.bad()) refuse("cannot be read any further");
    return std::nullopt;
  }

  void read_header() {
    const auto header = next_line();
    if (!header)
      refuse("is empty: the first line must be {\"format\": \"forescale-program-1\", ...}");
    header->at("format").one_of({kProgramFormat});
    header->allow_only({"format", "title", "ranks", "workers", "servers_have_nodes", "iterations",
                        "is_asynchronous", "images", "value_bytes", "slowed_kernels", "platform",
                        "stack", "placement", "data", "noise", "stragglers", "plans", "schedule",
                        "groups"});
    const auto ranks = static_cast<int>(header->at("ranks").integer(1, kProgramRanksMax));
    program_.ranks.resize(static_cast<size_t>(ranks));
    seen_.resize(static_cast<size_t>(ranks));
    for (size_t rank = 0; rank < seen_.size(); ++rank) model_of_.push_back(rank);
    program_.title = header->at("title").string();
    program_.workers = static_cast<int>(header->at("workers").integer(1, ranks));
    program_.servers_have_nodes = read_flag(*header, "servers_have_nodes");
    program_.iterations = static_cast<int>(header->at("iterations").integer(1, 1 << 20));
    program_.is_asynchronous = read_flag(*header, "is_asynchronous");
    program_.has_slowed_kernels = read_flag(*header, "slowed_kernels");
    for (const JsonInput& images : header->at("images").elements())
      program_.images.push_back(images.integer(0));
    if (program_.images.size() != static_cast<size_t>(program_.workers))
      header->at("images").fail(
          fmt::format("must have {} numbers, one a worker", program_.workers));
    if (const auto bytes = header->find("value_bytes")) program_.value_bytes = bytes->integer(1, 8);
    for (const auto& [key, text] :
         {std::pair("platform", &program_.platform), std::pair("stack", &program_.stack),
          std::pair("placement", &program_.placement), std::pair("data", &program_.data),
          std::pair("noise", &program_.noise), std::pair("stragglers", &program_.stragglers)})
      if (const auto found = header->find(key)) *text = found->string();
    if (const auto schedule = header->find("schedule")) {
      program_.schedule = schedule->string();
      schedule_ = &Registry<Schedule>::find(program_.schedule, schedule->file());
      program_.jobs.resize(program_.ranks.size());
    }
    if (const auto groups = header->find("groups"))
      for (const std::string& communicator : groups->keys())
        read_groups(communicator, groups->at(communicator));
    if (const auto plans = header->find("plans"))
      for (const std::string& op : plans->keys())
        program_.plans[parse_collective_op(op, plans->file())] = plans->at(op).string();
  }

  // Of one communicator: no rank is in two of them.
  void read_groups(const std::string& communicator, const JsonInput& in) {
    int number = 0;
    const char* const end = communicator.data() + communicator.size();
    const auto [next, error] = std::from_chars(communicator.data(), end, number);
    if (error != std::errc() || next != end || number < 0 || number > kCommunicatorMax)
      in.fail(fmt::format("must belong to a communicator from 0 to {}", kCommunicatorMax));
    std::vector<std::shared_ptr<std::vector<int>>>
        groups;  // all of them before a list of all ranks
    for (const JsonInput& group : in.elements()) {
      const auto& members = groups.emplace_back(std::make_shared<std::vector<int>>());
      for (const JsonInput& member : group.elements())
        members->push_back(static_cast<int>(
            member.integer(0, static_cast<std::int64_t>(program_.ranks.size()) - 1)));
      if (members->empty()) group.fail("must have at least one rank");
    }
    std::vector<RankGroup>& by_rank = program_.groups[number];
    by_rank.resize(program_.ranks.size());
    for (size_t i = 0; i < groups.size(); ++i)
      for (const int member : *groups[i]) {
        RankGroup& of_member = by_rank[static_cast<size_t>(member)];
        if (of_member != nullptr)
          in.elements()[i].fail(fmt::format("has rank {}, which is in a group already", member));
        of_member = groups[i];
      }
  }

  // {"rank": 3} begins a rank; {"rank": 4, "same_as": 3} is one whole.
  void read_rank_line(const JsonInput& line) {
    if (const auto number = line.find("rank")) {
      if (schedule_ == nullptr)
        line.allow_only({"rank", "same_as"});
      else
        line.allow_only({"rank", "same_as", "job"});
      rank_ = static_cast<size_t>(
          number->integer(0, static_cast<std::int64_t>(program_.ranks.size()) - 1));
      if (seen_[rank_]) number->fail("is there for the second time");
      seen_[rank_] = true;
      if (const auto other = line.find("same_as")) {
        const auto model = static_cast<size_t>(
            other->integer(0, static_cast<std::int64_t>(program_.ranks.size()) - 1));
        if (model == rank_ || !seen_[model]) other->fail("must be a rank that is written above");
        program_.ranks[rank_] = program_.ranks[model];
        if (schedule_ != nullptr) program_.jobs[rank_] = program_.jobs[model];
        model_of_[rank_] = model;
        is_begun_ = false;
      } else if (schedule_ != nullptr) {
        read_job(line.at("job"));
      } else {
        is_begun_ = true;
      }
      return;
    }
    if (!is_begun_) line.fail("must come after a line {\"rank\": 0}");
    const auto thread = static_cast<size_t>(read_integer(line, "thread", 0, kProgramThreadsMax));
    std::vector<ProgramThread>& threads = program_.ranks[rank_].threads;
    if (thread >= threads.size()) threads.resize(thread + 1);
    threads[thread].actions.push_back(read_action(line, static_cast<int>(program_.ranks.size())));
  }

  void read_job(const JsonInput& in) {
    auto job = std::make_shared<TrainingJob>(job_from_json(in, *schedule_));
    if (job->iterations != program_.iterations)
      in.at("iterations")
          .fail(fmt::format("must be {}, as the first line says", program_.iterations));
    program_.jobs[rank_] = std::move(job);
  }

  // Every request that is waited for is made; every thread but the first is started once, by one
  // that runs.
  void check(size_t rank) {
    const std::vector<ProgramThread>& threads = program_.ranks[rank].threads;
    const auto wrong = [&](const std::string& what) {
      throw InputError(
          {.source = file_, .path = fmt::format("rank {}", rank), .value = "", .constraint = what});
    };
    if (threads.empty()) wrong("does nothing");
    std::int64_t ends = 0;
    for (const ProgramThread& thread : threads) {
      const auto here =
          std::count_if(thread.actions.begin(), thread.actions.end(),
                        [](const Action& action) { return action.kind == Kind::kEndIteration; });
      if (here > 0 && ends > 0) wrong("ends iterations in two threads");
      ends += here;
    }
    if (is_worker(rank) && ends != program_.iterations)
      wrong(fmt::format("must end {} iterations, not {}", program_.iterations, ends));
    std::vector<int> ids;
    std::vector<int> starter(threads.size(), -1);
    for (size_t thread = 0; thread < threads.size(); ++thread)
      for (const Action& action : threads[thread].actions) {
        if (action.id >= 0) ids.push_back(action.id);
        if (const auto* start = std::get_if<ThreadStart>(&action.what)) {
          if (static_cast<size_t>(start->thread) >= threads.size())
            wrong(fmt::format("starts thread {}, which does nothing", start->thread));
          int& by = starter[static_cast<size_t>(start->thread)];
          if (by >= 0) wrong(fmt::format("starts thread {} for the second time", start->thread));
          by = static_cast<int>(thread);
        }
      }
    std::sort(ids.begin(), ids.end());
    if (const auto twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end())
      wrong(fmt::format("makes request {} for the second time", *twice));
    for (const ProgramThread& thread : threads)
      for (const Action& action : thread.actions)
        for (const int request : action.requests)
          if (!std::binary_search(ids.begin(), ids.end(), request))
            wrong(fmt::format("waits for request {}, which it does not make", request));
    for (size_t thread = 1; thread < threads.size(); ++thread) {
      size_t at = thread;
      for (size_t steps = 0; at != 0; ++steps) {
        if (starter[at] < 0 || steps > threads.size())
          wrong(fmt::format("does not start thread {}", thread));
        at = static_cast<size_t>(starter[at]);
      }
    }
  }

  std::istream& in_;
  const std::string& file_;
  Program program_;
  const Schedule* schedule_ = nullptr;  // of jobs
  std::vector<bool> seen_;
  std::vector<size_t> model_of_;  // that each rank does the same as; its own number: none
  size_t rank_ = 0;
  bool is_begun_ = false;
  size_t number_ = 0;
};

}  // namespace

Program read_program(std::istream& in, const std::string& file) {
  return ProgramReader(in, file).read();
}

}  // namespace forescale
