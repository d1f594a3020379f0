#include "sim/run/recording_worker.hpp"

#include <map>

#include "base/error.hpp"

namespace forescale {
namespace {

using Kind = Action::Kind;

// What the threads of a rank share.
struct Recording {
  ProgramRank& rank;
  std::map<const Pending*, int> ids = {};  // of the latest request at that address
  int next_id = 0;
};

class RecordingWorker : public Worker {
 public:
  RecordingWorker(Worker& inner, std::shared_ptr<Recording> recording, size_t thread)
      : inner_(inner), recording_(std::move(recording)), thread_(thread) {}

  int rank() const override { return inner_.rank(); }
  int rank_count() const override { return inner_.rank_count(); }
  int worker_count() const override { return inner_.worker_count(); }
  int node(int rank) const override { return inner_.node(rank); }
  double now_s() const override { return inner_.now_s(); }
  std::int64_t value(const Request& request) const override { return inner_.value(request); }

  Request launch(const Kernel& kernel) override {
    return made(Kind::kKernel, kernel, inner_.launch(kernel));
  }
  Request start(const CollectiveStep& step) override {
    return made(Kind::kCollective, step, inner_.start(step));
  }
  Request send(const MessageStep& step) override {
    return made(Kind::kSend, step, inner_.send(step));
  }
  Request receive(const MessageStep& step) override {
    return made(Kind::kReceive, step, inner_.receive(step));
  }
  Request put(const MessageStep& step) override { return made(Kind::kPut, step, inner_.put(step)); }
  Request start(const HostWork& work) override {
    return made(Kind::kHostWork, work, inner_.start(work));
  }
  Request start(const HostCopy& copy) override {
    return made(Kind::kHostCopy, copy, inner_.start(copy));
  }
  Request start(const Timer& timer) override {
    return made(Kind::kTimer, timer, inner_.start(timer));
  }
  Request next_batch() override {
    return made(Kind::kNextBatch, std::monostate(), inner_.next_batch());
  }
  Request make_signal() override {
    return made(Kind::kSignal, std::monostate(), inner_.make_signal());
  }
  Request spawn(std::function<void(Worker&)> thread) override {
    const size_t number = recording_->rank.threads.size();
    recording_->rank.threads.emplace_back();
    return made(Kind::kSpawn, ThreadStart{static_cast<int>(number)},
                inner_.spawn([recording = recording_, number, thread](Worker& worker) {
                  RecordingWorker recorder(worker, recording, number);
                  thread(recorder);
                }));
  }
  void wait(const Request& request) override {
    about(Kind::kWait, {request});
    inner_.wait(request);
  }
  void wait_any(const std::vector<Request>& requests) override {
    about(Kind::kWaitAny, requests);
    inner_.wait_any(requests);
  }
  bool test(const Request& request) override {
    about(Kind::kTest, {request});
    return inner_.test(request);
  }
  void set(const Request& signal) override {
    about(Kind::kSet, {signal});
    inner_.set(signal);
  }
  void end_iteration() override {
    actions().push_back({.kind = Kind::kEndIteration});
    inner_.end_iteration();
  }

 private:
  ActionList& actions() { return recording_->rank.threads[thread_].actions; }

  template <class What>
  Request made(Kind kind, const What& what, Request request) {
    const int id = recording_->next_id++;
    recording_->ids[request.get()] = id;
    actions().push_back({.kind = kind, .id = id, .what = what});
    return request;
  }

  void about(Kind kind, const std::vector<Request>& requests) {
    Action action{.kind = kind};
    for (const Request& request : requests) {
      const auto known = recording_->ids.find(request.get());
      FORESCALE_CHECK(known != recording_->ids.end(), "a request comes from its rank's Worker");
      action.requests.push_back(known->second);
    }
    actions().push_back(action);
  }

  Worker& inner_;
  std::shared_ptr<Recording> recording_;
  size_t thread_;
};

}  // namespace

void record_thread(Worker& worker, ProgramRank& rank,
                   const std::function<void(Worker&)>& main_thread) {
  rank.threads.assign(1, {});
  RecordingWorker recorder(worker, std::make_shared<Recording>(Recording{.rank = rank}), 0);
  main_thread(recorder);
}

}  // namespace forescale
