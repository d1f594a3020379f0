// How threads of a rank wait, what moves on meanwhile, and where the time goes.
#include "calibrate/bench/worker/mpi_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>

#include "base/error.hpp"
#include "calibrate/bench/polled.hpp"
#include "calibrate/bench/rank_group.hpp"

namespace forescale {
namespace {

constexpr double kLookForStuck_s = 0.5;

const RankRequest& as_rank_request(const Request& request) {
  return static_cast<const RankRequest&>(*request);
}

bool any_done(const std::vector<Request>& requests) {
  return std::any_of(requests.begin(), requests.end(),
                     [](const Request& request) { return as_rank_request(request).is_done; });
}

std::chrono::steady_clock::time_point on_clock(double when_s) {
  return std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(when_s)));
}

// The GPU time of one iteration of the slowest rank: as long, others may have to wait.
double compute_s(const ScheduleRequest& request) {
  double slowest_s = 0;
  for (const TrainingJob& job : request.jobs) {
    double sum_s = 0;
    for (const TrainingStage& stage : job.stages)
      sum_s += stage.forward_s + stage.backward_s + stage.update_s;
    slowest_s = std::max(slowest_s, sum_s);
  }
  return slowest_s;
}

}  // namespace

MpiRank::MpiRank(const ScheduleRequest& request, const Patience& patience, int channels)
    : request_(request),
      patience_(patience),
      channels_(channels),
      rank_(rank_in(MPI_COMM_WORLD)),
      stuck_s_(request.stuck_s + compute_s(request)),
      gpu_([this](double at_s, Phase phase, int change) {
        account(at_s);
        kernels_running_[static_cast<size_t>(phase)] += change;
      }),
      sweeps_(std::make_unique<MemorySweeps>()) {
  FORESCALE_CHECK(size_of(MPI_COMM_WORLD) == static_cast<int>(request.jobs.size()),
                  "one job a rank");
  for (MPI_Comm* communicator : {&collective_communicator_, &message_communicator_}) {
    MPI_Comm_dup(MPI_COMM_WORLD, communicator);
    MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN);
  }
  int* tag_max = nullptr;
  int is_set = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_max, &is_set);
  FORESCALE_CHECK(is_set != 0, "MPI names no largest tag");
  tag_max_ = *tag_max;
  if (request.compute != Compute::kSleep && rank_ < request.workers)
    gpu_thread_ = std::make_unique<GpuThread>(
        gpu_, lock_, [this] { return now_s(); }, request.compute == Compute::kGemm);
  if (request.progress_thread) {
    is_polled_ = true;
    progress_thread_ = std::thread([this] { keep_polling(); });
  }
}

MpiRank::~MpiRank() {
  {
    const std::lock_guard<RankLock> guard(lock_);
    is_over_ = true;
  }
  if (progress_thread_.joinable()) progress_thread_.join();
  gpu_thread_.reset();
  sweeps_.reset();
  MPI_Comm_free(&message_communicator_);
  MPI_Comm_free(&collective_communicator_);
}

void MpiRank::set_start(double clock_s) {
  const std::lock_guard<RankLock> guard(lock_);
  start_s_ = clock_s;
  moved_s_ = now_s();
}

void MpiRank::keep_polling() {
  patience_.wait([this] {
    const std::lock_guard<RankLock> guard(lock_);
    look();
    return is_over_;
  });
}

void MpiRank::account(double at_s) {
  const double passed_s = at_s - accounted_s_;
  if (passed_s <= 0) return;
  accounted_s_ = at_s;
  for (const auto* busy : {&kernels_running_, &waits_}) {
    for (size_t phase = 0; phase < busy->size(); ++phase) {
      if ((*busy)[phase] == 0) continue;
      iteration_.phase_s[phase] += passed_s;
      return;
    }
  }
  iteration_.idle_s += passed_s;
}

void MpiRank::end_iteration() {
  look_at_clock();
  account(now_s());
  iteration_.end_s = now_s();
  iterations_.push_back(iteration_);
  iteration_ = {};
}

void MpiRank::look_at_clock() {
  const double now = now_s();
  if (request_.compute != Compute::kGemm) gpu_.advance(now);
  while (!events_.empty() && events_.begin()->first <= now) {
    const auto action = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    moved_s_ = now;
    action();
  }
}

void MpiRank::look() {
  look_at_clock();
  if (progress()) moved_s_ = now_s();
}

// Of what the clock completes; of a GPU that computes for real, nobody knows.
std::optional<double> MpiRank::next_event_s() const {
  std::optional<double> next_s;
  if (!events_.empty()) next_s = events_.begin()->first;
  if (request_.compute == Compute::kGemm) return next_s;
  if (const auto end_s = gpu_.next_end_s()) next_s = std::min(next_s.value_or(*end_s), *end_s);
  return next_s;
}

void MpiRank::wait_any(const std::string& thread, std::condition_variable_any& woken,
                       const std::vector<Request>& requests) {
  look_at_clock();
  if (any_done(requests)) return;
  moved_s_ = now_s();
  const RankRequest& first = as_rank_request(requests.front());
  const std::optional<Phase> phase = first.phase();
  account(now_s());
  if (phase) ++waits_[static_cast<size_t>(*phase)];
  const auto entry = waiting_.emplace(thread, &first);
  for (const Request& request : requests)
    static_cast<RankRequest&>(*request).waiters.push_back(&woken);
  const bool in_call = first.is_communication();
  const bool is_timed = std::any_of(requests.begin(), requests.end(), [](const Request& request) {
    return as_rank_request(request).is_timed();
  });
  while (!any_done(requests)) {
    if (in_call && !is_polled_) {
      is_polled_ = true;
      poll_until([&] { return any_done(requests); });
      is_polled_ = false;
      continue;
    }
    double until_s = now_s() + kLookForStuck_s;
    if (const auto next_s = next_event_s(); next_s && is_timed)
      until_s = std::min(until_s, *next_s);
    const auto place = in_call ? in_calls_.insert(in_calls_.end(), &woken) : in_calls_.end();
    woken.wait_until(lock_, on_clock(start_s_ + until_s));
    if (in_call) in_calls_.erase(place);
    look_at_clock();
    check_stuck();
  }
  // Somebody must go on polling.
  if (in_call && !is_polled_ && !in_calls_.empty()) in_calls_.front()->notify_all();
  for (const Request& request : requests)
    std::erase(static_cast<RankRequest&>(*request).waiters, &woken);
  waiting_.erase(entry);
  look_at_clock();
  account(now_s());
  if (phase) --waits_[static_cast<size_t>(*phase)];
}

void MpiRank::poll_until(const std::function<bool()>& is_done) {
  lock_.unlock();
  patience_.wait([&] {
    lock_.lock();
    look();
    if (is_done()) return true;  // with the lock
    check_stuck();
    lock_.unlock();
    return false;
  });
}

// A moment of progress, in which others of this rank get their turn too.
bool MpiRank::test(const Request& request) {
  const RankRequest& tested = as_rank_request(request);
  look_at_clock();
  if (!tested.is_done && tested.is_communication()) {
    look();
    lock_.unlock();
    lock_.lock();
  }
  return tested.is_done;
}

void MpiRank::check_stuck() {
  if (now_s() - moved_s_ < stuck_s_ || next_event_s() || !gpu_.is_idle() || sweeps_running_ > 0)
    return;
  give_up(3, fmt::format("nothing has moved on for {:.0f} s:{}", stuck_s_, describe_waiting()));
}

std::string MpiRank::describe_waiting() const {
  std::string text;
  for (const auto& [thread, request] : waiting_)
    text += fmt::format("\n  rank {} ({}) waits for {}", rank_, thread, request->describe());
  constexpr size_t kLines = 8;
  for (size_t i = 0; i < std::min(kLines, collectives_.size()); ++i)
    text += fmt::format("\n  rank {} has called {}", rank_, collectives_[i]->describe());
  for (size_t i = 0; i < std::min(kLines, messages_.size()); ++i)
    text += fmt::format("\n  rank {} is {}", rank_, messages_[i]->describe());
  return text;
}

void MpiRank::give_up(int code, const std::string& text) {
  fmt::print(stderr, "forescale: rank {}: {}\n", rank_, text);
  std::fflush(stderr);
  // The others may be about to say what they wait for.
  if (code == 3) std::this_thread::sleep_for(std::chrono::seconds(1));
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();
}

}  // namespace forescale
