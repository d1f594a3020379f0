#include "sim/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "models/error.hpp"

namespace forescale {

// Anything that a thread can wait for.
struct Session::Done : Pending {
  virtual bool is_communication() const { return false; }
  virtual Phase phase() const { return Phase::kForward; }
  virtual std::string describe() const { return "a signal of another thread"; }
  Gate gate;
};

struct Session::KernelRequest : Done {
  std::string describe() const override { return "kernel " + kernel.label; }
  Phase phase() const override { return kernel.phase; }
  Kernel kernel;
};

struct Session::CollectiveRequest : Done {
  bool is_communication() const override { return true; }
  Phase phase() const override { return step.phase; }
  std::string describe() const override {
    std::string text = fmt::format("{} #{} \"{}\" on communicator {}", name_of(step.op), number,
                                   step.label, step.communicator);
    if (!run->finished()) text += ": " + run->describe(member);
    return text;
  }
  CollectiveStep step;
  std::int64_t number = 0;
  int member = 0;
  std::shared_ptr<CollectiveRun> run;
};

// The n-th operation of every rank on a communicator is the same collective.
struct Session::Communicator {
  struct Operation {
    CollectiveStep step;
    int first_rank = 0;
    int joined = 0;
    std::shared_ptr<CollectiveRun> run;
  };
  std::vector<std::int64_t> next;  // per rank: number of its next operation
  std::map<std::int64_t, Operation> open;
};

struct Session::Rank {
  struct Stream : Completion {
    void complete() override { session->begin_kernel(rank, stream); }
    Session* session = nullptr;
    int rank = 0;
    int stream = 0;
    std::deque<std::shared_ptr<KernelRequest>> queue;
    bool running = false;
    double begin_s = 0;
  };
  std::map<int, Stream> streams;
  std::array<int, kPhaseCount> kernels_running{};
  std::array<int, kPhaseCount> waits{};  // threads waiting for communication, by phase
  int calls = 0;                         // threads inside a communication call
  std::vector<std::function<void()>> deferred;
  std::map<std::string, const Done*> waiting;  // thread name -> what it waits for
  double accounted_s = 0;
  Attribution attribution;
  int threads = 0;
};

// A thread of a rank, as its schedule sees it.
class Session::Thread : public Worker {
 public:
  Thread(Session& session, int rank, std::string name, Track track)
      : session_(session), rank_(rank), name_(std::move(name)), track_(track) {}

  int rank() const override { return rank_; }
  int rank_count() const override { return session_.machine_.rank_count(); }
  double now_s() const override { return session_.world_.now_s(); }

  Request launch(const Kernel& kernel) override {
    auto request = std::make_shared<KernelRequest>();
    request->kernel = kernel;
    session_.world_.in_kernel([&session = session_, rank = rank_, request] {
      Rank::Stream& stream =
          session.ranks_[static_cast<size_t>(rank)]->streams[request->kernel.stream];
      stream.session = &session;
      stream.rank = rank;
      stream.stream = request->kernel.stream;
      stream.queue.push_back(request);
      if (!stream.running) session.begin_kernel(rank, stream.stream);
    });
    return request;
  }

  Request start(const CollectiveStep& step) override {
    try {
      return session_.start_collective(rank_, step);
    } catch (const InputError&) {
      session_.abort(std::current_exception());
    } catch (const SimulationStuck&) {
      session_.abort(std::current_exception());
    }
    Gate never;  // the simulation is being stopped
    never.wait();
    return nullptr;
  }

  void wait(const Request& request) override {
    Done& done = static_cast<Done&>(*request);
    if (done.gate.is_open()) return;
    Rank& rank = *session_.ranks_[static_cast<size_t>(rank_)];
    const bool communication = done.is_communication();
    const double begin_s = now_s();
    rank.waiting[name_] = &done;
    if (communication) {
      session_.account(rank_);
      ++rank.waits[static_cast<size_t>(done.phase())];
      session_.enter_call(rank_);
    }
    done.gate.wait();
    if (communication) {
      session_.account(rank_);
      --rank.waits[static_cast<size_t>(done.phase())];
      session_.leave_call(rank_);
    }
    rank.waiting.erase(name_);
    if (session_.options_.timeline != nullptr && now_s() > begin_s)
      session_.options_.timeline->add({.rank = rank_,
                                       .track = track_,
                                       .label = session_.options_.timeline->label(wait_label(done)),
                                       .begin_s = begin_s,
                                       .end_s = now_s()});
  }

  Request spawn(std::function<void(Worker&)> body) override {
    auto request = std::make_shared<Done>();
    Rank& rank = *session_.ranks_[static_cast<size_t>(rank_)];
    const std::string name = fmt::format("helper thread {}", ++rank.threads);
    session_.world_.spawn(
        fmt::format("rank {} {}", rank_, name),
        [&session = session_, rank_number = rank_, name, body = std::move(body), request] {
          Thread thread(session, rank_number, name, Track::kHelperThread);
          body(thread);
          request->gate.open();
        });
    return request;
  }

  Request make_signal() override { return std::make_shared<Done>(); }
  void set(const Request& signal) override { static_cast<Done&>(*signal).gate.open(); }

  void end_iteration() override {
    session_.account(rank_);
    Rank& rank = *session_.ranks_[static_cast<size_t>(rank_)];
    session_.attributions_[static_cast<size_t>(rank_)] = rank.attribution;
    rank.attribution = {};
    auto& ends = session_.iteration_ends_[static_cast<size_t>(rank_)];
    ends.push_back(now_s());
  }

 private:
  static std::string wait_label(const Done& done) {
    if (const auto* kernel = dynamic_cast<const KernelRequest*>(&done))
      return "wait: " + kernel->kernel.label;
    if (const auto* collective = dynamic_cast<const CollectiveRequest*>(&done))
      return "wait: " + collective->step.label;
    return "wait: signal";
  }

  Session& session_;
  int rank_;
  std::string name_;
  Track track_;
};

Session::Session(const Platform& platform, const Stack& stack, int rank_count,
                 SessionOptions options)
    : stack_(stack),
      options_(std::move(options)),
      world_(options_.solver),
      machine_(world_, platform, stack, rank_count),
      transport_(machine_, *this,
                 {.timeline = options_.timeline, .explicit_staging = options_.explicit_staging}),
      iteration_ends_(static_cast<size_t>(rank_count)),
      attributions_(static_cast<size_t>(rank_count)) {
  for (int rank = 0; rank < rank_count; ++rank) ranks_.push_back(std::make_unique<Rank>());
  transport_.set_failure_handler([this](const std::string& reason) { world_.stop(reason); });
}

Session::~Session() = default;

void Session::start_rank(int rank, std::function<void(Worker&)> main_thread) {
  world_.spawn(fmt::format("rank {}", rank), [this, rank, body = std::move(main_thread)] {
    Thread thread(*this, rank, "main thread", Track::kMainThread);
    body(thread);
    finished_s_ = std::max(finished_s_, world_.now_s());
  });
}

void Session::fail_link(const Resource& resource, double at_s) {
  world_.fail_link(machine_.link(resource), at_s);
}

void Session::run() {
  try {
    world_.run([this] { return describe_stuck(); });
  } catch (const SimulationStuck&) {
    if (error_) std::rethrow_exception(error_);
    throw;
  }
}

bool Session::can_progress(int rank) const {
  return stack_.progress == Progress::kHardware || ranks_[static_cast<size_t>(rank)]->calls > 0;
}

void Session::when_progressing(int rank, std::function<void()> action) {
  ranks_[static_cast<size_t>(rank)]->deferred.push_back(std::move(action));
}

void Session::enter_call(int rank) {
  Rank& state = *ranks_[static_cast<size_t>(rank)];
  ++state.calls;
  if (state.deferred.empty()) return;
  world_.in_kernel([&state] {
    // What an action defers again waits for the next call.
    const auto actions = std::move(state.deferred);
    state.deferred.clear();
    for (const auto& action : actions) action();
  });
}

void Session::leave_call(int rank) { --ranks_[static_cast<size_t>(rank)]->calls; }

void Session::account(int rank) {
  Rank& state = *ranks_[static_cast<size_t>(rank)];
  const double now_s = world_.now_s();
  const double passed_s = now_s - state.accounted_s;
  state.accounted_s = now_s;
  if (passed_s <= 0) return;
  for (const auto& busy : {state.kernels_running, state.waits}) {
    for (size_t phase = 0; phase < busy.size(); ++phase) {
      if (busy[phase] == 0) continue;
      state.attribution.phase_s[phase] += passed_s;
      return;
    }
  }
  state.attribution.idle_s += passed_s;
}

// Starts the next kernel of a stream, after finishing the one that ran.
void Session::begin_kernel(int rank, int stream_number) {
  Rank& state = *ranks_[static_cast<size_t>(rank)];
  Rank::Stream& stream = state.streams[stream_number];
  account(rank);
  if (stream.running) {
    const auto done = stream.queue.front();
    stream.queue.pop_front();
    stream.running = false;
    --state.kernels_running[static_cast<size_t>(done->kernel.phase)];
    if (options_.timeline != nullptr)
      options_.timeline->add({.rank = rank,
                              .track = Track::kCompute,
                              .label = options_.timeline->label(done->kernel.label),
                              .begin_s = stream.begin_s,
                              .end_s = world_.now_s()});
    done->gate.open();
  }
  if (stream.queue.empty()) return;
  const Kernel& kernel = stream.queue.front()->kernel;
  stream.running = true;
  stream.begin_s = world_.now_s();
  ++state.kernels_running[static_cast<size_t>(kernel.phase)];
  world_.start_task(machine_.gpu(rank), kernel.duration_s, &stream);
}

CollectiveRun::Settings Session::settings_for(const CollectiveStep& step) const {
  const int ranks = machine_.rank_count();
  CollectiveRun::Settings settings;
  std::string algorithm;
  if (const auto choice = options_.choices.find(step.op); choice != options_.choices.end()) {
    algorithm = choice->second.algorithm;
    settings.call.options = choice->second.options;
    settings.place = machine_.lanes().default_place();
  } else {
    const SelectionRule& rule = stack_.select(name_of(step.op), ranks, step.bytes);
    algorithm = rule.algorithm;
    settings.call.options = {
        .chunk_bytes = rule.chunk_bytes, .chain_size = rule.chain_size, .levels = rule.levels};
    settings.through_host = rule.through_host && machine_.lanes().platform().has_gpus();
    settings.through_host_bandwidth = rule.through_host_bandwidth.value;
    settings.place = settings.through_host ? BufferPlace::kHost : machine_.lanes().default_place();
  }
  settings.collective = &find_collective(step.op, algorithm, "stack " + stack_.name);
  settings.call.rank_count = ranks;
  settings.call.bytes = step.bytes;
  settings.call.root = step.root;
  settings.label = step.label;
  check_call(*settings.collective, settings.call);
  for (int rank = 0; rank < ranks; ++rank) settings.ranks.push_back(rank);
  return settings;
}

// Finds or opens the operation that this call belongs to; SimulationStuck on a mismatch.
std::shared_ptr<Session::CollectiveRequest> Session::join(int rank, const CollectiveStep& step) {
  auto& slot = communicators_[step.communicator];
  if (!slot) {
    slot = std::make_unique<Communicator>();
    slot->next.resize(static_cast<size_t>(machine_.rank_count()));
  }
  Communicator& communicator = *slot;
  const std::int64_t number = communicator.next[static_cast<size_t>(rank)]++;
  auto entry = communicator.open.find(number);
  const bool fresh = entry == communicator.open.end();
  if (fresh) {
    CollectiveRun::Settings settings = settings_for(step);  // may throw: nothing is open yet
    entry = communicator.open.try_emplace(number).first;
    entry->second.step = step;
    entry->second.first_rank = rank;
    settings.channel = next_channel_++;
    ProgressGate& gate = *this;
    entry->second.run = std::make_shared<CollectiveRun>(std::move(settings), machine_, transport_,
                                                        gate, options_.timeline);
  }
  Communicator::Operation& operation = entry->second;
  if (operation.step.op != step.op || operation.step.bytes != step.bytes ||
      operation.step.root != step.root) {
    throw SimulationStuck(fmt::format(
        "collectives in different order on communicator {}: operation #{} is {} of {} bytes "
        "(\"{}\", root {}) on rank {}, but {} of {} bytes (\"{}\", root {}) on rank {}",
        step.communicator, number, name_of(operation.step.op), operation.step.bytes,
        operation.step.label, operation.step.root, operation.first_rank, name_of(step.op),
        step.bytes, step.label, step.root, rank));
  }
  auto request = std::make_shared<CollectiveRequest>();
  request->step = step;
  request->number = number;
  request->member = rank;
  request->run = operation.run;
  if (++operation.joined == machine_.rank_count()) communicator.open.erase(entry);
  return request;
}

Request Session::start_collective(int rank, const CollectiveStep& step) {
  auto request = join(rank, step);
  world_.in_kernel([this, rank, request] {
    // Starting is a communication call too: it posts what can be posted.
    Rank& state = *ranks_[static_cast<size_t>(rank)];
    ++state.calls;
    request->run->join(rank, [this, request] {
      request->gate.open();
      // The run may be on the call stack: let go of it later.
      world_.after(0, [request] {});
    });
    --state.calls;
  });
  return request;
}

void Session::abort(std::exception_ptr error) {
  if (!error_) error_ = std::move(error);
  world_.stop("stopped");
}

std::string Session::describe_stuck() const {
  std::string text = "the simulation cannot finish:";
  constexpr size_t kLines = 24;
  size_t lines = 0;
  for (size_t rank = 0; rank < ranks_.size(); ++rank)
    for (const auto& [thread, done] : ranks_[rank]->waiting) {
      if (lines++ >= kLines) continue;
      text += fmt::format("\n  rank {} ({}) waits for {}", rank, thread, done->describe());
    }
  if (lines > kLines) text += fmt::format("\n  ... and {} more", lines - kLines);
  const std::vector<std::string> unmatched = transport_.unmatched();
  for (size_t i = 0; i < std::min(unmatched.size(), kLines); ++i)
    text += "\n  unmatched: " + unmatched[i];
  return text;
}

}  // namespace forescale
