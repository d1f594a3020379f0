// What a schedule's thread does: launch, start, wait.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "sim/run/session_parts.hpp"

namespace forescale {

int Session::Thread::node(int rank) const {
  const Platform& platform = session_.machine_.lanes().platform();
  const int device = platform.endpoints[static_cast<size_t>(rank)];
  return platform.devices[static_cast<size_t>(device)].node;
}

Request Session::Thread::launch(const Kernel& kernel) {
  Rank& state = *session_.ranks_[static_cast<size_t>(rank_)];
  const SessionOptions& options = session_.options_;
  double duration_s = kernel.duration_s;
  if (!options.noise.none())
    duration_s *= options.noise.factor(rank_, state.kernels++,
                                       session_.iteration_ends_[static_cast<size_t>(rank_)].size());
  Rank::Stream& stream = state.streams[kernel.stream];
  const bool is_together =
      stream.launched != nullptr && stream.launched_at == session_.world_.actions_added();
  if (is_together && stream.goes_on_unseen(stream.launched->back(), kernel.phase)) {
    stream.launched->back()->kernel.duration_s += duration_s;
    return stream.launched->back();
  }
  auto request = std::make_shared<KernelRequest>();
  request->kernel = kernel;
  request->kernel.duration_s = duration_s;
  request->after = moment_;
  if (!is_together) {
    stream.session = &session_;
    stream.rank = rank_;
    stream.stream = kernel.stream;
    stream.launched = std::make_shared<std::vector<std::shared_ptr<KernelRequest>>>();
    // Behind the collectives that the thread has started before, which look at what was launched.
    session_.world_.in_kernel([&stream, launched = stream.launched] {
      if (stream.launched == launched) stream.launched = nullptr;
      for (auto& each : *launched) stream.queue.push_back(std::move(each));
      if (stream.running == 0) stream.session->begin_kernel(stream.rank, stream.stream);
    });
    stream.launched_at = session_.world_.actions_added();
  }
  stream.launched->push_back(request);
  return request;
}

void Session::Thread::run_body(const std::function<void(Worker&)>& body) {
  or_abort([&] {
    body(*this);
    return nullptr;
  });
}

Request Session::Thread::or_abort(const std::function<Request()>& action) {
  try {
    return action();
  } catch (const InputError&) {
    session_.abort(std::current_exception());
  } catch (const SimulationStuck&) {
    session_.abort(std::current_exception());
  }
  Gate never;  // the simulation is being stopped
  never.wait();
  return nullptr;
}

Request Session::Thread::start(const CollectiveStep& step) {
  return or_abort([&] { return session_.start_collective(rank_, step, moment_); });
}

Request Session::Thread::send(const MessageStep& step) {
  return or_abort([&] { return session_.send(rank_, step, false, moment_); });
}

Request Session::Thread::put(const MessageStep& step) {
  return or_abort([&] { return session_.send(rank_, step, true, moment_); });
}

Request Session::Thread::receive(const MessageStep& step) {
  return or_abort([&] { return session_.receive(rank_, step, moment_); });
}

Request Session::Thread::start(const HostWork& work) {
  return session_.work_on_host(rank_, work, moment_);
}

Request Session::Thread::start(const HostCopy& copy) { return session_.copy(rank_, copy, moment_); }

Request Session::Thread::start(const Timer& timer) { return session_.timer(rank_, timer, moment_); }

Request Session::Thread::next_batch() {
  session_.ranks_[static_cast<size_t>(rank_)]->takes_batches = true;
  return session_.next_batch(rank_, moment_);
}

void Session::Thread::wait(const Request& request) {
  Done& done = static_cast<Done&>(*request);
  if (done.gate.is_open()) return;
  wait_at(request, done.gate);
  moment_ = done.moment;
}

void Session::Thread::wait_any(const std::vector<Request>& requests) {
  for (const Request& request : requests)
    if (static_cast<Done&>(*request).gate.is_open()) return;
  const auto any = std::make_shared<Gate>();
  for (const Request& request : requests) static_cast<Done&>(*request).gate.also_open(any);
  wait_at(requests.front(), *any);
  for (const Request& request : requests)
    if (const Done& done = static_cast<Done&>(*request); done.gate.is_open()) {
      moment_ = done.moment;
      return;
    }
}

// Blocks at a gate that is closed, as a wait for `request`.
void Session::Thread::wait_at(const Request& request, Gate& gate) {
  const Wait wait = begin_wait(static_cast<Done&>(*request));
  gate.wait();
  end_wait(wait);
}

Session::Thread::Wait Session::Thread::begin_wait(Done& done) {
  Rank& rank = *session_.ranks_[static_cast<size_t>(rank_)];
  const Wait wait{.done = &done, .begin_s = now_s(), .phase = done.phase()};
  rank.waiting[name_] = &done;
  if (wait.phase) {
    session_.account(rank_);
    ++rank.waits[static_cast<size_t>(*wait.phase)];
  }
  if (wait.phase == Phase::kWaiting) {
    Operation& operation = *static_cast<CollectiveRequest&>(done).operation;
    operation.waiters.push_back({.rank = rank_, .phase = operation.step.phase});
  }
  if (done.is_communication()) session_.enter_call(rank_);
  return wait;
}

void Session::Thread::end_wait(const Wait& wait) {
  Done& done = *wait.done;
  Rank& rank = *session_.ranks_[static_cast<size_t>(rank_)];
  if (wait.phase) {
    session_.account(rank_);
    // A wait for other ranks has become one for the operation once all had joined.
    --rank.waits[static_cast<size_t>(*done.phase())];
    if (done.phase() == Phase::kWaiting) {  // something else has ended the wait
      std::vector<Operation::Waiter>& waiters =
          static_cast<CollectiveRequest&>(done).operation->waiters;
      waiters.erase(std::find_if(waiters.begin(), waiters.end(),
                                 [&](const auto& waiter) { return waiter.rank == rank_; }));
    }
  }
  if (done.is_communication()) session_.leave_call(rank_);
  rank.waiting.erase(name_);
  if (session_.options_.timeline != nullptr && now_s() > wait.begin_s)
    session_.options_.timeline->add(
        {.rank = rank_,
         .track = track_,
         .label = session_.options_.timeline->label("wait: " + done.label()),
         .begin_s = wait.begin_s,
         .end_s = now_s()});
}

// Lets everything happen that this instant still has to offer.
void Session::Thread::run_until_now() {
  Gate gate;
  session_.world_.in_kernel([&gate] { gate.open(); });
  gate.wait();
}

bool Session::Thread::test(const Request& request) {
  const Done& done = static_cast<const Done&>(*request);
  if (!done.gate.is_open() && done.is_communication() &&
      session_.stack_.progress == Progress::kInsideCalls) {
    session_.enter_call(rank_);
    run_until_now();
    session_.leave_call(rank_);
  }
  return done.gate.is_open();
}

std::int64_t Session::Thread::value(const Request& request) const {
  const Done& done = static_cast<const Done&>(*request);
  FORESCALE_CHECK(done.gate.is_open(), "the value of a request that is not complete");
  if (const auto* collective = dynamic_cast<const CollectiveRequest*>(&done))
    return collective->operation->least_value;
  return done.value;
}

Request Session::Thread::spawn(std::function<void(Worker&)> body) {
  auto request = std::make_shared<Done>();
  Rank& rank = *session_.ranks_[static_cast<size_t>(rank_)];
  const std::string name = fmt::format("helper thread {}", ++rank.threads);
  session_.world_.spawn(
      fmt::format("rank {} {}", rank_, name), [&session = session_, rank_number = rank_, name,
                                               body = std::move(body), request, moment = moment_] {
        Thread thread(session, rank_number, name, Track::kHelperThread, moment);
        thread.run_body(body);
        session.finished_s_ = std::max(session.finished_s_, session.world_.now_s());
        request->open(thread.moment());
      });
  return request;
}

void Session::Thread::end_iteration() {
  session_.account(rank_);
  session_.account_overlap(rank_);
  Rank& rank = *session_.ranks_[static_cast<size_t>(rank_)];
  session_.attributions_[static_cast<size_t>(rank_)].push_back(rank.attribution);
  rank.attribution = {};
  session_.iteration_ends_[static_cast<size_t>(rank_)].push_back(now_s());
  if (session_.reading_ && !rank.takes_batches) session_.reading_->leave_out(rank_);
  session_.end_iteration(rank_, moment_);
}

void Session::start_calls(std::vector<Call> calls, std::function<void()> on_done) {
  world_.spawn("calls", [this, calls = std::move(calls), on_done = std::move(on_done)] {
    std::deque<Thread> threads;
    std::vector<Request> requests;
    std::size_t open = calls.size();
    Gate all_done;
    for (const Call& call : calls) {
      Thread& thread = threads.emplace_back(*this, call.rank, "main thread", Track::kMainThread);
      requests.push_back(thread.start(*call.step));
      auto& request = static_cast<CollectiveRequest&>(*requests.back());
      request.then = [&, wait = thread.begin_wait(request)] {
        thread.end_wait(wait);
        finished_s_ = std::max(finished_s_, world_.now_s());
        on_done();
        if (--open == 0) all_done.open();
      };
    }
    all_done.wait();
  });
}

}  // namespace forescale
