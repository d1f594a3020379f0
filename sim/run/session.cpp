#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "sim/run/session_parts.hpp"

namespace forescale {

Session::Session(const Platform& platform, const Stack& stack, int rank_count,
                 SessionOptions options)
    : stack_(stack),
      options_(std::move(options)),
      world_(options_.solver),
      machine_(world_, platform, stack, rank_count),
      transport_(machine_, *this,
                 {.timeline = options_.timeline, .explicit_staging = options_.explicit_staging}),
      worker_count_(options_.workers == 0 ? rank_count : options_.workers),
      iteration_ends_(static_cast<size_t>(rank_count)),
      iteration_moments_(static_cast<size_t>(rank_count)),
      batches_taken_(static_cast<size_t>(rank_count)),
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
    ended = happened(rank, done->after, Cause::kCompute, done->kernel.label);
    done->open(ended);
  }
  if (stream.queue.empty()) return;
  if (ended != CauseLog::kStart) stream.queue.front()->after = ended;
  const Kernel& kernel = stream.queue.front()->kernel;
  stream.running = true;
  stream.begin_s = world_.now_s();
  ++state.kernels_running[static_cast<size_t>(kernel.phase)];
  world_.start_task(machine_.gpu(rank), kernel.duration_s, &stream);
}

CollectiveRun::Settings Session::settings_for(const CollectiveStep& step,
                                              const std::vector<int>& ranks) const {
  const int rank_count = static_cast<int>(ranks.size());
  const BufferPlace place = step.on_host ? BufferPlace::kHost : machine_.lanes().default_place();
  CollectiveRun::Settings settings;
  settings.place = place;
  if (const SelectionRule* rule = stack_.find_rule(name_of(step.op), rank_count, step.bytes)) {
    settings.through_host = rule->through_host && place == BufferPlace::kGpu;
    settings.through_host_bandwidth = rule->through_host_bandwidth.value;
    if (settings.through_host) settings.place = BufferPlace::kHost;
    // Of a rule that copies GPU buffers, the overhead is theirs too.
    if (settings.through_host || !rule->through_host) settings.call_s = rule->call_overhead.value;
  }
  std::string algorithm;
  const auto choice = options_.choices.find(step.op);
  if (choice != options_.choices.end() && !step.control) {
    algorithm = choice->second.algorithm;
    settings.call.options = choice->second.options;
  } else {
    const SelectionRule& rule = stack_.select(name_of(step.op), rank_count, step.bytes);
    algorithm = rule.algorithm;
    settings.call.options = {
        .chunk_bytes = rule.chunk_bytes, .chain_size = rule.chain_size, .levels = rule.levels};
  }
  if (const SelectionRule* rule =
          stack_.find_rule_with(algorithm, name_of(step.op), rank_count, step.bytes);
      rule != nullptr && !settings.through_host) {
    settings.protocol = rule->protocol;
    settings.orders = place == BufferPlace::kGpu
                          ? orders_for(*rule, ranks, machine_.lanes().platform(), stack_.name)
                          : rule->orders;
  }
  settings.collective = &find_collective(step.op, algorithm, "stack " + stack_.name);
  settings.call.rank_count = rank_count;
  settings.call.bytes = step.bytes;
  settings.call.root = step.root;
  settings.label = step.label;
  settings.control = step.control;
  settings.ranks = ranks;
  check_call(*settings.collective, settings.call);
  return settings;
}

Session::Communicator& Session::communicator(const CollectiveStep& step) {
  static const std::vector<int> kWorkers;  // key of the group of all workers
  auto& slot = communicators_[{step.group ? *step.group : kWorkers, step.communicator}];
  if (slot) return *slot;
  slot = std::make_unique<Communicator>();
  if (step.group) {
    slot->ranks = *step.group;
  } else {
    for (int rank = 0; rank < worker_count_; ++rank) slot->ranks.push_back(rank);
  }
  for (size_t i = 0; i < slot->ranks.size(); ++i)
    slot->member_of[slot->ranks[i]] = static_cast<int>(i);
  slot->next.resize(slot->ranks.size());
  return *slot;
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
    CollectiveRun::Settings settings = settings_for(step, communicator.ranks);  // may throw
    fresh->step = step;
    fresh->number = number;
    fresh->first_rank = rank;
    fresh->members = static_cast<int>(communicator.ranks.size());
    fresh->least_value = step.value;
    settings.channel = next_channel_;
    fresh->parts = std::make_unique<CollectiveParts>(
        settings, CollectiveParts::Setting{.machine = machine_,
                                           .transport = transport_,
                                           .gate = *this,
                                           .timeline = options_.timeline});
    next_channel_ += static_cast<std::uint64_t>(fresh->parts->count());
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
  if (!step.control) communicates(rank, +1);
  in_call(rank, [this, request] {  // posts what can be posted
    request->operation->parts->join(request->member, [this, request] {
      const CollectiveStep& what = request->operation->step;
      if (!what.control) communicates(request->rank, -1);
      record(request->rank, Track::kCollective, what.label, request->begin_s, what.bytes);
      request->open(collective_happened(*request));
      // The run may be on the call stack: let go of it later.
      world_.after(0, [request] {});
    });
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
