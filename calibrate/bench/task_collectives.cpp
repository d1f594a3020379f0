// The task "collectives": every case checked against a serial sum and timed.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "calibrate/bench/collectives/collective_data.hpp"
#include "calibrate/bench/collectives/plan_run.hpp"
#include "calibrate/bench/patterns/repetition.hpp"
#include "calibrate/bench/patterns/start_together.hpp"
#include "calibrate/bench/polled.hpp"
#include "calibrate/bench/request.hpp"
#include "calibrate/bench/tasks.hpp"

namespace forescale {
namespace {

constexpr int kCollectiveTag = 1;
constexpr double kPoliteNap_s = 1e-3;  // of ranks that have no part in what is timed

std::string refusal_of(const CollectiveCase& one) {
  try {
    check_call(*one.plan.collective, one.call);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// One rank's side of one case.
class CaseRun {
 public:
  CaseRun(const CollectiveCase& one, int channels, StartTogether& together)
      : case_(one),
        channels_(channels),
        together_(together),
        rank_(rank_in(together.communicator())),
        input_(collective_input(one.plan.collective->op, one.call, rank_)),
        buffer_(input_.size()) {}

  // Time of the slowest rank.
  std::optional<double> once() {
    ++repetitions_;
    if (!input_.empty()) std::memcpy(buffer_.data(), input_.data(), input_.size() * sizeof(float));
    PlanRun run(
        case_.plan.collective->plan(case_.call, rank_),
        reinterpret_cast<std::byte*>(buffer_.data()),
        {.communicator = together_.communicator(), .tag = kCollectiveTag, .channels = channels_});
    together_.agree_start();
    together_.patience().wait([&run] {
      while (run.progress()) {
      }
      return run.done();
    });
    const std::optional<double> time_s = together_.elapsed(clock_s());
    if (repetitions_ == 1) check();
    return time_s;
  }

  // What the last repetition left. Collective; the complaint is rank 0's.
  void check() {
    WrongElement wrong = first_wrong(case_.plan.collective->op, case_.call, rank_, buffer_);
    const int rank_count = case_.call.rank_count;
    std::vector<WrongElement> all(rank_ == 0 ? static_cast<std::size_t>(rank_count) : 0);
    MPI_Request request = MPI_REQUEST_NULL;
    constexpr int kBytes = sizeof(WrongElement);
    MPI_Igather(&wrong, kBytes, MPI_BYTE, all.data(), kBytes, MPI_BYTE, 0, together_.communicator(),
                &request);
    finish(request, together_.patience());
    for (std::size_t rank = 0; rank < all.size() && complaint_.empty(); ++rank)
      if (all[rank].element >= 0)
        complaint_ = fmt::format(
            "wrong result at rank {}: element {} is {}, must be {} "
            "(repetition {})",
            rank, all[rank].element, all[rank].found, all[rank].expected, repetitions_);
  }

  const std::string& complaint() const { return complaint_; }

 private:
  const CollectiveCase& case_;
  int channels_;
  StartTogether& together_;
  int rank_;
  std::vector<float> input_;
  std::vector<float> buffer_;
  int repetitions_ = 0;
  std::string complaint_;
};

class CollectivesTask {
 public:
  CollectivesTask(CollectivesRequest request, TaskSettings& settings)
      : request_(std::move(request)), settings_(settings), rank_(rank_in(MPI_COMM_WORLD)) {
    answer_ = {{"format", "forescale-executed-1"},
               {"library", mpi_library()},
               {"cases", nlohmann::json::array()}};
    make_communicators();
  }

  ~CollectivesTask() {
    for (auto& [ranks, communicator] : communicators_) MPI_Comm_free(&communicator);
  }
  CollectivesTask(const CollectivesTask&) = delete;
  CollectivesTask& operator=(const CollectivesTask&) = delete;

  void run() {
    const double begin_s = clock_s();
    for (std::size_t i = 0; i < request_.cases.size(); ++i) {
      const CollectiveCase& one = request_.cases[i];
      if (rank_ == 0) say(i);
      if (rank_ >= one.call.rank_count) {
        has_idled_ = true;
        continue;
      }
      const double left_s = request_.budget_s - (clock_s() - begin_s);
      run_case(one, left_s, left_s / static_cast<double>(request_.cases.size() - i));
    }
    if (rank_ == 0) settings_.answer.write(answer_);
  }

 private:
  // Of the first ranks of the world, one for each number of ranks that a case has.
  void make_communicators() {
    std::set<int> sizes;
    for (const CollectiveCase& one : request_.cases) sizes.insert(one.call.rank_count);
    for (const int size : sizes) {
      MPI_Comm communicator = MPI_COMM_NULL;
      MPI_Comm_split(MPI_COMM_WORLD, rank_ < size ? 0 : MPI_UNDEFINED, rank_, &communicator);
      if (communicator != MPI_COMM_NULL) communicators_[size] = communicator;
    }
  }

  // Rank 0 comes when it has finished the cases before.
  bool is_called(MPI_Comm communicator, double left_s) {
    const Patience polite(std::max(kPoliteNap_s, settings_.patience.nap_s()));
    int goes_on = left_s > 0 ? 1 : 0;
    tell_all(&goes_on, sizeof goes_on, communicator, has_idled_ ? polite : settings_.patience);
    has_idled_ = false;
    return goes_on != 0;
  }

  void run_case(const CollectiveCase& one, double left_s, double budget_s) {
    nlohmann::json result = to_json(one);
    if (const std::string refusal = refusal_of(one); !refusal.empty()) {
      result["error"] = refusal;
    } else if (!is_called(communicators_.at(one.call.rank_count), left_s)) {
      result["error"] =
          fmt::format("not executed: the budget of {:g} s had been spent", request_.budget_s);
    } else {
      execute(one, budget_s, result);
    }
    if (rank_ != 0) return;
    answer_["cases"].push_back(std::move(result));
    settings_.answer.keep(answer_);
  }

  void execute(const CollectiveCase& one, double budget_s, nlohmann::json& result) {
    CaseRun run(one, settings_.channels, together(one.call.rank_count));
    const RepetitionRule rule = {.warm_up = 1,
                                 .minimum = request_.repetitions_min,
                                 .maximum = request_.repetitions_max,
                                 .relative_interval = request_.relative_interval,
                                 .budget_s = budget_s};
    const SampleSummary times_s = repeat(communicators_.at(one.call.rank_count), settings_.patience,
                                         rule, [&run] { return run.once(); });
    run.check();
    result["time_s"] = times_s.median;
    result["low_s"] = times_s.low;
    result["high_s"] = times_s.high;
    result["p10_s"] = times_s.p10;
    result["p90_s"] = times_s.p90;
    result["samples"] = times_s.samples;
    result["is_correct"] = run.complaint().empty();
    if (!run.complaint().empty()) result["error"] = run.complaint();
  }

  StartTogether& together(int ranks) {
    std::unique_ptr<StartTogether>& existing = together_[ranks];
    if (!existing)
      existing = std::make_unique<StartTogether>(communicators_.at(ranks), settings_.patience);
    return *existing;
  }

  void say(std::size_t index) {
    const CollectiveCase& one = request_.cases[index];
    progress_.say(fmt::format("case {} of {}: {}, {} ranks, {} bytes", index + 1,
                              request_.cases.size(), one.plan.collective->name, one.call.rank_count,
                              one.call.bytes));
  }

  CollectivesRequest request_;
  TaskSettings& settings_;
  int rank_;
  bool has_idled_ = false;
  nlohmann::json answer_;
  ProgressLines progress_;
  std::map<int, MPI_Comm> communicators_;
  std::map<int, std::unique_ptr<StartTogether>> together_;
};

}  // namespace

void run_collectives(const JsonInput& request, TaskSettings& settings) {
  CollectivesTask(read_collectives(request, size_of(MPI_COMM_WORLD)), settings).run();
}

}  // namespace forescale
