// One thread of a rank as a training schedule sees it, on real MPI with an emulated GPU. The
// simulator's counterpart is Session::Thread.
#pragma once

#include <condition_variable>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/bench/worker/mpi_rank.hpp"

namespace forescale {

// Its thread holds the rank's lock wherever it runs a schedule's code.
class MpiWorker final : public Worker {
 public:
  MpiWorker(MpiRank& rank, std::string name) : rank_(rank), name_(std::move(name)) {}

  int rank() const override { return rank_.rank(); }
  int rank_count() const override { return static_cast<int>(rank_.request().jobs.size()); }
  int worker_count() const override { return rank_.request().workers; }
  int node(int rank) const override { return rank_.request().nodes[static_cast<size_t>(rank)]; }
  double now_s() const override { return rank_.now_s(); }

  Request launch(const Kernel& kernel) override { return rank_.launch(kernel); }
  Request start(const CollectiveStep& step) override { return rank_.start(step); }
  Request send(const MessageStep& step) override { return rank_.send(step); }
  Request receive(const MessageStep& step) override { return rank_.receive(step); }
  // Two-sided underneath: MPI's own one-sided writes are not used. The receive is posted before or
  // after; either way it is done when the bytes are there.
  Request put(const MessageStep& step) override { return rank_.send(step); }
  Request start(const HostWork& work) override { return rank_.start(work); }
  Request start(const HostCopy& copy) override { return rank_.start(copy); }
  Request start(const Timer& timer) override {
    return rank_.timer(timer.delay_s, std::nullopt, name_of(timer.what));
  }
  // There at once: no training data are read.
  Request next_batch() override { return rank_.timer(0, Phase::kInput, "training data"); }

  void wait(const Request& request) override { wait_any({request}); }
  void wait_any(const std::vector<Request>& requests) override {
    rank_.wait_any(name_, woken_, requests);
  }
  bool test(const Request& request) override { return rank_.test(request); }
  std::int64_t value(const Request& request) const override {
    return static_cast<const RankRequest&>(*request).value;
  }

  Request spawn(std::function<void(Worker&)> thread) override {
    return rank_.spawn([&rank = rank_, thread = std::move(thread)](const std::string& name) {
      MpiWorker worker(rank, name);
      thread(worker);
    });
  }
  Request make_signal() override { return std::make_shared<RankRequest>(); }
  void set(const Request& signal) override { static_cast<RankRequest&>(*signal).complete(); }
  void end_iteration() override { rank_.end_iteration(); }

 private:
  MpiRank& rank_;
  std::string name_;
  std::condition_variable_any woken_;
};

}  // namespace forescale
