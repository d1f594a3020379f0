#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "sim/run/session_parts.hpp"

namespace forescale {

Session::Session(const Platform& platform, const Stack& stack, int rank_count,
                 SessionOptions options)
    : stack_(stack),
      options_(std::move(options)),
      made_world_(make_world(options_.solver, rank_count)),
      world_(*made_world_),
      machine_(world_, platform, stack, rank_count, options_.alike),
      transport_(machine_, *this,
                 {.timeline = options_.timeline,
                  .explicit_staging = options_.explicit_staging,
                  .noise = options_.message_noise}),
      under_way_(std::make_unique<UnderWay>()),
      worker_count_(options_.workers == 0 ? rank_count : options_.workers),
      priced_(world_),
      iteration_ends_(static_cast<size_t>(rank_count)),
      iteration_moments_(static_cast<size_t>(rank_count)),
      attributions_(static_cast<size_t>(rank_count)) {
  for (int rank = 0; rank < rank_count; ++rank) ranks_.push_back(std::make_unique<Rank>());
  if (options_.data != nullptr && !options_.data->is_synthetic())
    reading_ = std::make_unique<DataReading>(world_, machine_, *options_.data,
                                             options_.images_per_rank, options_.batches);
  if (options_.links != nullptr) machine_.watch(*options_.links);
  transport_.set_failure_handler([this](const std::string& reason) { world_.stop(reason); });
}

Session::~Session() = default;

void Session::start_rank(int rank, std::function<void(Worker&)> main_thread) {
  world_.spawn(fmt::format("rank {}", rank), [this, rank, body = std::move(main_thread)] {
    Thread thread(*this, rank, "main thread", Track::kMainThread);
    thread.run_body(body);
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

// Starts the next kernel of a stream, after finishing the one that ran.
void Session::begin_kernel(int rank, int stream_number) {
  Rank& state = *ranks_[static_cast<size_t>(rank)];
  Rank::Stream& stream = state.streams[stream_number];
  account(rank);
  account_overlap(rank);
  CauseLog::Moment ended = CauseLog::kStart;
  if (stream.running > 0) {
    for (; stream.running > 1; --stream.running) stream.queue.pop_front();
    const auto done = stream.queue.front();
    stream.queue.pop_front();
    stream.running = 0;
    --state.kernels_running[static_cast<size_t>(done->kernel.phase)];
    if (options_.timeline != nullptr)
      options_.timeline->add({.rank = rank,
                              .track = Track::kCompute,
                              .label = options_.timeline->label(done->kernel.label),
                              .begin_s = stream.begin_s,
                              .end_s = world_.now_s()});
    ended = happened(rank, done->after, Cause::kCompute, done->kernel.label);
    done->open(ended);
    for (const auto& action : done->then) action();
  }
  if (stream.queue.empty()) return;
  if (ended != CauseLog::kStart) stream.queue.front()->after = ended;
  const Kernel& kernel = stream.queue.front()->kernel;
  double duration_s = kernel.duration_s;
  size_t next = 1;
  for (; next < stream.queue.size() &&
         stream.goes_on_unseen(stream.queue[next - 1], stream.queue[next]->kernel.phase);
       ++next)
    duration_s += stream.queue[next]->kernel.duration_s;
  stream.running = static_cast<int>(next);
  stream.begin_s = world_.now_s();
  ++state.kernels_running[static_cast<size_t>(kernel.phase)];
  world_.start_task(machine_.gpu(rank), duration_s, &stream);
}

void Session::after_launched(int rank, const std::function<void()>& action) {
  auto left = std::make_shared<size_t>(1);  // one more than kernels, until all are counted
  const auto one_less = [left, action] {
    if (--*left == 0) action();
  };
  for (auto& [number, stream] : ranks_[static_cast<size_t>(rank)]->streams) {
    if (stream.queue.empty()) continue;
    ++*left;
    stream.queue.back()->then.emplace_back(one_less);
  }
  one_less();
}

CollectiveRun::Settings Session::settings_for(const CollectiveStep& step,
                                              const SharedGroup& group) const {
  const auto choice = options_.choices.find(step.op);
  const bool is_named = choice != options_.choices.end() && !step.control;
  CollectiveRun::Settings settings;
  static_cast<ResolvedCall&>(settings) =
      resolve(machine_.lanes(), group,
              {.op = step.op,
               .bytes = step.bytes,
               .root = step.root,
               .plan = is_named ? &choice->second : nullptr,
               .place = step.on_host ? std::optional(BufferPlace::kHost) : std::nullopt,
               .element_bytes = step.control ? 4 : options_.value_bytes,
               .rules_of = options_.rules_of});
  settings.few_steps = options_.few_steps;
  settings.label = step.label;
  settings.control = step.control;
  return settings;
}

// By the handle that the step carries; what is new is looked up by its members once, since every
// rank may have made a handle of its own.
Session::Communicator& Session::communicator(const CollectiveStep& step) {
  auto& known = communicators_[{step.group.get(), step.communicator}];
  if (known) return *known;
  static const std::vector<int> kWorkers;  // key of the group of all workers
  auto& slot = communicators_by_ranks_[{step.group ? *step.group : kWorkers, step.communicator}];
  if (!slot) {
    slot = std::make_shared<Communicator>();
    const Platform& platform = machine_.lanes().platform();
    slot->group = step.group ? shared_group(platform, *step.group)
                             : shared_first_slots(platform, worker_count_);
    const std::vector<int>& ranks = slot->group->slots;
    for (size_t i = 0; i < ranks.size(); ++i) slot->member_of[ranks[i]] = static_cast<int>(i);
    slot->next.resize(ranks.size());
    slot->in_order.resize(ranks.size());
  }
  slot->handles.push_back(step.group);
  known = slot;
  return *known;
}

// Finds or opens the operation that this call belongs to; SimulationStuck on a mismatch.
std::shared_ptr<Session::CollectiveRequest> Session::join(int rank, const CollectiveStep& step,
                                                          CauseLog::Moment moment) {
  Communicator& communicator = this->communicator(step);
  const auto member = communicator.member_of.find(rank);
  FORESCALE_CHECK(member != communicator.member_of.end(),
                  fmt::format("rank {} calls a collective of a group without it", rank));
  const std::int64_t number = communicator.next[static_cast<size_t>(member->second)]++;
  auto entry = communicator.open.find(number);
  if (entry == communicator.open.end()) {
    auto fresh = std::make_shared<Operation>();
    CollectiveRun::Settings settings = settings_for(step, communicator.group);  // may throw
    fresh->step = step;
    fresh->number = number;
    fresh->first_rank = rank;
    fresh->members = options_.price ? options_.priced_ranks : communicator.group->shape.ranks;
    fresh->least_value = step.value;
    settings.channel = next_channel_;
    fresh->default_stream = settings.default_stream;
    fresh->communicator = &communicator;
    if (!options_.price) {
      fresh->parts = std::make_unique<CollectiveParts>(
          settings, CollectiveParts::Setting{.machine = machine_,
                                             .transport = transport_,
                                             .gate = *this,
                                             .timeline = options_.timeline});
      next_channel_ += static_cast<std::uint64_t>(fresh->parts->count());
    }
    entry = communicator.open.emplace(number, std::move(fresh)).first;
  }
  Operation& operation = *entry->second;
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
  request->member = member->second;
  request->operation = entry->second;
  operation.least_value = std::min(operation.least_value, step.value);
  operation.last_call = moment;
  if (options_.causes != nullptr) operation.calls_s.push_back(world_.now_s());
  if (++operation.joined == operation.members) {
    stop_waiting(operation);
    communicator.open.erase(entry);
  }
  return request;
}

// All have joined: from here on the ranks wait for the operation, not for each other.
void Session::stop_waiting(Operation& operation) {
  for (const Operation::Waiter& waiter : operation.waiters) {
    account(waiter.rank);
    Rank& state = *ranks_[static_cast<size_t>(waiter.rank)];
    --state.waits[static_cast<size_t>(Phase::kWaiting)];
    ++state.waits[static_cast<size_t>(waiter.phase)];
  }
  operation.waiters.clear();
}

Request Session::start_collective(int rank, const CollectiveStep& step, CauseLog::Moment moment) {
  auto request = join(rank, step, moment);
  request->rank = rank;
  request->begin_s = world_.now_s();
  under_way_->add(request);
  if (!step.control) communicates(rank, +1);
  if (stack_.collectives_in_order) line_of(*request).push_back(request.get());
  in_call(rank, [this, request = request.get()] {  // posts what can be posted
    const auto is_ready = [this, request] {
      request->is_ready = true;
      begin_in_order(*request);
    };
    if (!request->operation->default_stream)
      is_ready();
    else
      after_launched(request->rank,
                     [this, request, is_ready] { once_progressing(request->rank, is_ready); });
  });
  return request;
}

void Session::once_progressing(int rank, std::function<void()> action) {
  if (can_progress(rank))
    action();
  else
    when_progressing(rank, std::move(action));
}

std::deque<Session::CollectiveRequest*>& Session::line_of(const CollectiveRequest& request) {
  return request.operation->communicator->in_order[static_cast<size_t>(request.member)];
}

void Session::begin_in_order(CollectiveRequest& request) {
  if (!request.is_ready) return;
  if (stack_.collectives_in_order && line_of(request).front() != &request) return;
  request.is_ready = false;  // it begins once
  begin_part(request);
}

void Session::part_ended(const CollectiveRequest& request) {
  if (!stack_.collectives_in_order) return;
  std::deque<CollectiveRequest*>& line = line_of(request);
  line.pop_front();
  if (!line.empty())
    once_progressing(request.rank, [this, next = line.front()] { begin_in_order(*next); });
}

namespace {

// Told of what nobody waits for.
class Nobody final : public Completion {
  void complete() override {}
};

}  // namespace

// What a collective brings takes of the memory's bandwidth is work that the GPU does beside its
// kernels; where there are none it costs nothing.
void Session::slow_kernels(const CollectiveRequest& request) {
  static Nobody nobody;
  const CollectiveStep& step = request.operation->step;
  if (options_.has_slowed_kernels || stack_.memory_accesses == 0) return;
  if (step.on_host || step.control) return;
  if (ranks_[static_cast<size_t>(request.rank)]->streams.empty()) return;
  const double work_s = stack_.slows_kernels_s(
      brought_bytes(step.op, step.bytes, request.operation->communicator->group->slots.size()),
      machine_.lanes().platform().gpu_models.front());
  if (work_s > 0) world_.start_task(machine_.gpu(request.rank), work_s, &nobody);
}

void Session::begin_part(CollectiveRequest& request) {
  slow_kernels(request);
  const auto done = [this, &request] {
    const CollectiveStep& what = request.operation->step;
    if (!what.control) communicates(request.rank, -1);
    record(request.rank, Track::kCollective, what.label, request.begin_s, what.bytes);
    request.open(collective_happened(request));
    if (request.then) request.then();
    part_ended(request);
    under_way_->completed(request);
  };
  Operation& operation = *request.operation;
  if (operation.parts != nullptr) {
    operation.parts->join(request.member, done);
    return;
  }
  operation.priced.emplace_back(done);
  if (operation.priced.size() < static_cast<size_t>(operation.members)) return;
  priced_.start(options_.price(operation.step), [all = std::move(operation.priced)] {
    for (const auto& one : all) one();
  });
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
