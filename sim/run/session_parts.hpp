// The parts of a Session, for its own files: requests, ranks, communicators, threads.
#pragma once

#include <fmt/format.h>

#include <deque>

#include "sim/run/collective_parts.hpp"
#include "sim/run/session.hpp"

namespace forescale {

// Anything that a thread can wait for.
struct Session::Done : Pending {
  virtual bool is_communication() const { return false; }
  // What a wait for it counts as; nothing: idle.
  virtual std::optional<Phase> phase() const { return std::nullopt; }
  virtual std::string describe() const { return "a signal of another thread"; }
  virtual std::string label() const { return "signal"; }
  void open(CauseLog::Moment when) {
    moment = when;
    gate.open();
  }
  Gate gate;
  CauseLog::Moment after = CauseLog::kStart;   // what it follows from
  CauseLog::Moment moment = CauseLog::kStart;  // once it is complete
  std::int64_t value = 0;
  size_t slot = 0;  // of UnderWay
};

// The owner of what others tell about: of every request from its start until it is complete. Its
// caller may let go of it earlier or keep it longer. As its own code may be on the call stack when
// it is complete, it is let go of when a thread next starts something, which none of it does.
class Session::UnderWay {
 public:
  void add(std::shared_ptr<Done> request) {
    complete_.clear();
    if (free_.empty()) {
      free_.push_back(slots_.size());
      slots_.emplace_back();
    }
    request->slot = free_.back();
    free_.pop_back();
    slots_[request->slot] = std::move(request);
  }
  void completed(const Done& request) {
    complete_.push_back(std::move(slots_[request.slot]));
    free_.push_back(request.slot);
  }

 private:
  std::vector<std::shared_ptr<Done>> slots_;
  std::vector<size_t> free_;
  std::vector<std::shared_ptr<Done>> complete_;
};

struct Session::KernelRequest : Done {
  std::string describe() const override { return "kernel " + kernel.label; }
  std::string label() const override { return kernel.label; }
  Kernel kernel;
  std::vector<std::function<void()>> then;  // once it is complete, in kernel context
};

// Work on the rank's host, a copy, training data, a timer.
struct Session::LocalRequest final : Done, Completion {
  std::optional<Phase> phase() const override { return what; }
  std::string describe() const override { return text; }
  std::string label() const override { return text; }
  // One of its parts is done.
  void complete() override {
    if (--parts > 0) return;
    if (on_complete) on_complete();
    open(session->happened(rank, after, cause, text));
    session->under_way_->completed(*this);
  }
  Session* session = nullptr;
  int rank = 0;
  Cause cause = Cause::kTimer;
  std::optional<Phase> what;
  std::string text;
  int parts = 1;
  std::function<void()> on_complete;
};

// The target's side of a put: it arrives whether or not anybody waits. Kept by its mailbox, then by
// the request that takes it.
struct Session::Arrival final : MessageListener {
  void on_sent(std::int64_t /*index*/) override {}
  void on_received(std::int64_t /*index*/) override {}
  void on_delivered(std::int64_t /*index*/) override;
  bool has_arrived = false;
  MessageRequest* waiting = nullptr;
};

// One side of a message.
struct Session::MessageRequest final : Done, MessageListener {
  bool is_communication() const override { return true; }
  std::optional<Phase> phase() const override { return step.phase; }
  std::string label() const override { return step.label; }
  std::string describe() const override {
    return fmt::format("{} of {} bytes {} rank {} (tag {}, \"{}\")",
                       sends ? "sending" : "receiving", step.bytes, sends ? "to" : "from",
                       step.peer, step.tag, step.label);
  }
  void on_sent(std::int64_t /*index*/) override {
    if (sends) finish();
  }
  void on_received(std::int64_t /*index*/) override {}
  void on_delivered(std::int64_t /*index*/) override { finish(); }
  void finish() {
    if (!step.control) session->communicates(rank, -1);
    open(session->happened(rank, after, Cause::kMessage, step.label));
    session->under_way_->completed(*this);
  }
  Session* session = nullptr;
  int rank = 0;
  MessageStep step;
  bool sends = false;
  std::unique_ptr<Arrival> arrival;  // of the put that it waits for
};

inline void Session::Arrival::on_delivered(std::int64_t /*index*/) {
  has_arrived = true;
  if (waiting != nullptr) waiting->finish();
}

// Messages of one (source, destination, tag) that have one side only.
struct Session::Mailbox {
  struct Sent {
    MessageStep step;
    std::uint64_t channel = 0;
    CauseLog::Moment after = CauseLog::kStart;
    std::unique_ptr<Arrival> arrival;   // of a put
    MessageRequest* request = nullptr;  // under way, unless it is eager
  };
  std::deque<Sent> sent;
  std::deque<MessageRequest*> received;  // under way
};

// The n-th operation of every rank on a communicator is the same collective.
struct Session::Operation {
  struct Waiter {
    int rank = 0;
    Phase phase = Phase::kAggregation;
  };
  CollectiveStep step;
  std::int64_t number = 0;
  int first_rank = 0;
  int joined = 0;
  int members = 0;
  std::int64_t least_value = 0;
  std::vector<Waiter> waiters;  // ranks that wait for others to join
  CauseLog::Moment last_call = CauseLog::kStart;
  std::vector<double> calls_s;                     // only with a log of causes
  std::unique_ptr<CollectiveParts> parts;          // null: it has a price
  std::vector<std::function<void()>> priced = {};  // of those that have begun, what comes after
  bool default_stream = false;  // a rank's part begins behind the kernels that it has launched
  Communicator* communicator = nullptr;
  bool all_joined() const { return joined == members; }
};

struct Session::Communicator {
  SharedGroup group;
  std::vector<RankGroup> handles;  // kept, so that no other group takes their place in memory
  std::map<int, int> member_of;    // rank -> member
  std::vector<std::int64_t> next;  // per member: number of its next operation
  std::map<std::int64_t, std::shared_ptr<Operation>> open;
  // Per member, of a stack whose collectives go in order: its part that runs, and those behind it.
  std::vector<std::deque<CollectiveRequest*>> in_order;
};

struct Session::CollectiveRequest : Done {
  bool is_communication() const override { return true; }
  std::optional<Phase> phase() const override {
    return operation->all_joined() ? operation->step.phase : Phase::kWaiting;
  }
  std::string label() const override { return operation->step.label; }
  std::string describe() const override {
    std::string text =
        fmt::format("{} #{} \"{}\" on communicator {}", name_of(operation->step.op),
                    operation->number, operation->step.label, operation->step.communicator);
    if (operation->parts && !operation->parts->finished())
      text += ": " + operation->parts->describe(member);
    return text;
  }
  int rank = 0;
  double begin_s = 0;
  int member = 0;
  std::shared_ptr<Operation> operation;
  bool is_ready = false;            // nothing of its rank keeps its part from beginning
  std::function<void()> then = {};  // once it is complete, in kernel context
};

struct Session::Rank {
  struct Stream : Completion {
    void complete() override { session->begin_kernel(rank, stream); }
    // Nobody will know when `last` is over, and what comes next counts as the same.
    bool goes_on_unseen(const std::shared_ptr<KernelRequest>& last, Phase next) const {
      return session->options_.timeline == nullptr && session->options_.causes == nullptr &&
             last.use_count() == 1 && last->then.empty() && last->kernel.phase == next;
    }
    Session* session = nullptr;
    int rank = 0;
    int stream = 0;
    std::deque<std::shared_ptr<KernelRequest>> queue;
    int running = 0;  // the first so many
    // What was launched together and is not in the queue yet; nothing else was to happen since.
    std::shared_ptr<std::vector<std::shared_ptr<KernelRequest>>> launched;
    std::uint64_t launched_at = 0;  // World::actions_added()
    double begin_s = 0;
  };
  std::map<int, Stream> streams;
  std::uint64_t kernels = 0;  // launched so far
  std::array<int, kPhaseCount> kernels_running{};
  std::array<int, kPhaseCount> waits{};  // threads waiting, by phase
  int calls = 0;                         // threads inside a communication call
  std::vector<std::function<void()>> deferred;
  std::map<std::string, const Done*> waiting;  // thread name -> what it waits for
  double accounted_s = 0;
  int communications = 0;  // collectives and messages under way
  double overlap_accounted_s = 0;
  Attribution attribution;
  int threads = 0;
  bool takes_batches = false;
};

// A thread of a rank, as its schedule sees it.
class Session::Thread : public Worker {
 public:
  Thread(Session& session, int rank, std::string name, Track track,
         CauseLog::Moment moment = CauseLog::kStart)
      : session_(session), rank_(rank), name_(std::move(name)), track_(track), moment_(moment) {}

  int rank() const override { return rank_; }
  int rank_count() const override { return session_.machine_.rank_count(); }
  int worker_count() const override { return session_.worker_count_; }
  int node(int rank) const override;
  double now_s() const override { return session_.world_.now_s(); }
  Request launch(const Kernel& kernel) override;
  Request start(const CollectiveStep& step) override;
  Request send(const MessageStep& step) override;
  Request receive(const MessageStep& step) override;
  Request put(const MessageStep& step) override;
  Request start(const HostWork& work) override;
  Request start(const HostCopy& copy) override;
  Request start(const Timer& timer) override;
  Request next_batch() override;
  void wait(const Request& request) override;
  void wait_any(const std::vector<Request>& requests) override;
  bool test(const Request& request) override;
  std::int64_t value(const Request& request) const override;
  Request spawn(std::function<void(Worker&)> body) override;
  Request make_signal() override { return std::make_shared<Done>(); }
  void set(const Request& signal) override { static_cast<Done&>(*signal).open(moment_); }
  void end_iteration() override;

  CauseLog::Moment moment() const { return moment_; }

  // A thread from beginning to end; an InputError or SimulationStuck ends the simulation with it.
  void run_body(const std::function<void(Worker&)>& body);

  // What goes before a wait and after it, where no thread of control is there to block.
  struct Wait {
    Done* done = nullptr;
    double begin_s = 0;
    std::optional<Phase> phase;
  };
  Wait begin_wait(Done& done);
  void end_wait(const Wait& wait);

 private:
  void run_until_now();
  void wait_at(const Request& request, Gate& gate);
  // Runs `action`; an error of it stops the simulation, and this thread never goes on.
  Request or_abort(const std::function<Request()>& action);

  Session& session_;
  int rank_;
  std::string name_;
  Track track_;
  CauseLog::Moment moment_;  // what all that it does follows from
};

}  // namespace forescale
