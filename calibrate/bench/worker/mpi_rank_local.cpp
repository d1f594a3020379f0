// What a rank does by itself: kernels, work on its host, copies, timers, helper threads.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/error.hpp"
#include "calibrate/bench/worker/mpi_rank.hpp"

namespace forescale {

Request MpiRank::launch(const Kernel& kernel) {
  FORESCALE_CHECK(rank_ < request_.workers, "a server has no GPU");
  look_at_clock();
  auto request = std::make_shared<KernelRequest>();
  request->label = kernel.label;
  gpu_.launch(now_s(), kernel, [this, request] {
    moved_s_ = now_s();
    request->complete();
  });
  look_at_clock();
  if (gpu_thread_) gpu_thread_->launched();
  return request;
}

void MpiRank::after(double when_s, std::function<void()> action) {
  events_.emplace(when_s, std::move(action));
  look_at_clock();
}

Request MpiRank::timer(double delay_s, std::optional<Phase> phase, const std::string& text) {
  auto request = std::make_shared<LocalRequest>();
  request->what = phase;
  request->text = text;
  after(now_s() + delay_s, [request] { request->complete(); });
  return request;
}

// The processor is taken to be another one than those that run the ranks: its time passes without
// load; what it moves in memory is moved.
Request MpiRank::start(const HostWork& work) {
  auto request = std::make_shared<LocalRequest>();
  request->what = work.phase;
  request->text = work.label;
  if (work.memory_bytes > 0) {
    request->parts = 2;
    ++sweeps_running_;
    sweeps_->submit(work.memory_bytes, [this, request] {
      const std::lock_guard<RankLock> guard(lock_);
      --sweeps_running_;
      moved_s_ = now_s();
      request->part_done();
    });
  }
  after(now_s() + work.duration_s, [request] { request->part_done(); });
  return request;
}

// Copies of one direction one after the other, by the clock.
Request MpiRank::start(const HostCopy& copy) {
  FORESCALE_CHECK(rank_ < request_.workers, "a server has no GPU to copy from");
  auto request = std::make_shared<LocalRequest>();
  request->what = copy.phase;
  request->text = copy.label;
  double& free_s = copy_engine_free_s_[copy.to_host ? 0 : 1];
  const double rate = request_.host_copy_bytes_per_s;
  const double duration_s = rate > 0 ? static_cast<double>(copy.bytes) / rate : 0;
  free_s = std::max(free_s, now_s()) + duration_s;
  after(free_s, [request] { request->complete(); });
  return request;
}

Request MpiRank::spawn(std::function<void(const std::string& name)> body) {
  join_helpers();
  auto request = std::make_shared<RankRequest>();
  const std::string name = fmt::format("helper thread {}", ++helper_count_);
  Helper& helper = helpers_.emplace_back();
  helper.thread = std::thread([this, &helper, name, request, body = std::move(body)] {
    const std::lock_guard<RankLock> guard(lock_);
    try {
      body(name);
    } catch (const InputError& error) {
      give_up(2, error.what());
    } catch (const std::exception& error) {
      give_up(1, error.what());
    }
    moved_s_ = now_s();
    helper.is_over = true;
    request->complete();
  });
  return request;
}

// Those that are over: each has given the lock back, since this thread holds it.
void MpiRank::join_helpers() {
  for (auto helper = helpers_.begin(); helper != helpers_.end();) {
    if (helper->is_over) helper->thread.join();
    helper = helper->is_over ? helpers_.erase(helper) : ++helper;
  }
}

void MpiRank::finish() {
  const std::lock_guard<RankLock> guard(lock_);
  while (!helpers_.empty()) {
    std::list<Helper> next;  // out of the way of helpers that spawn others
    next.splice(next.begin(), helpers_, helpers_.begin());
    lock_.unlock();
    next.front().thread.join();
    lock_.lock();
  }
  finish_messages();
}

}  // namespace forescale
