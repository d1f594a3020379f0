// Messages between ranks, and what a rank does on its own host.
#include <fmt/format.h>

#include "base/error.hpp"
#include "sim/run/session_parts.hpp"

namespace forescale {
namespace {

[[noreturn]] void sizes_differ(const MessageStep& sent, const MessageStep& received) {
  throw SimulationStuck(fmt::format(
      "message sizes differ: rank {} sends {} bytes (\"{}\") to rank {}, which receives {} bytes "
      "(\"{}\") with tag {}",
      received.peer, sent.bytes, sent.label, sent.peer, received.bytes, received.label, sent.tag));
}

}  // namespace

void Session::check_peer(int rank, const MessageStep& step) const {
  FORESCALE_CHECK(step.peer >= 0 && step.peer < machine_.rank_count() && step.peer != rank,
                  fmt::format("rank {} exchanges a message with rank {}", rank, step.peer));
}

MessagePost Session::post_of(int source, const MessageStep& sent, std::uint64_t channel) {
  return {.channel = channel,
          .source = source,
          .destination = sent.peer,
          .bytes = sent.bytes,
          .kind = sent.on_host ? MessageKind(BufferPlace::kHost) : machine_.lanes().message_kind(),
          .listener = nullptr,
          .index = 0,
          .label = options_.timeline == nullptr ? 0 : options_.timeline->label(sent.label),
          .control = sent.control};
}

// Posting is a communication call: what waits for one may go on.
void Session::in_call(int rank, std::function<void()> action) {
  world_.in_kernel([this, rank, action = std::move(action)] {
    Rank& state = *ranks_[static_cast<size_t>(rank)];
    ++state.calls;
    action();
    --state.calls;
  });
}

std::shared_ptr<Session::MessageRequest> Session::new_message(int rank, const MessageStep& step,
                                                              CauseLog::Moment moment) {
  check_peer(rank, step);
  auto request = std::make_shared<MessageRequest>();
  request->session = this;
  request->rank = rank;
  request->step = step;
  request->after = moment;
  under_way_->add(request);
  if (!step.control) communicates(rank, +1);
  return request;
}

Request Session::send(int rank, const MessageStep& step, bool one_sided, CauseLog::Moment moment) {
  auto request = new_message(rank, step, moment);
  request->sends = true;
  Mailbox& box = mailboxes_[{rank, step.peer, step.tag}];
  const std::uint64_t channel = next_channel_++;
  const MessagePost post = post_of(rank, step, channel);
  MessageRequest* receiver = nullptr;
  if (!box.received.empty()) {
    receiver = box.received.front();
    if (receiver->step.bytes != step.bytes) sizes_differ(step, receiver->step);
    box.received.pop_front();
    receiver->value = step.value;
    receiver->after = moment;
  }
  std::unique_ptr<Arrival> arrival;
  if (one_sided) {
    arrival = std::make_unique<Arrival>();
    arrival->waiting = receiver;
  }
  MessageListener* target = receiver;
  if (one_sided) target = arrival.get();
  if (receiver == nullptr)
    box.sent.push_back({.step = step,
                        .channel = channel,
                        .after = moment,
                        .arrival = std::move(arrival),
                        .request = request.get()});
  else
    receiver->arrival = std::move(arrival);
  in_call(rank, [this, post, target, sender = request.get()] {
    MessagePost side = post;
    if (target != nullptr) {
      side.listener = target;
      transport_.post_recv(side);
    }
    side.listener = sender;
    transport_.post_send(side);
  });
  return request;
}

Request Session::receive(int rank, const MessageStep& step, CauseLog::Moment moment) {
  auto request = new_message(rank, step, moment);
  Mailbox& box = mailboxes_[{step.peer, rank, step.tag}];
  if (box.sent.empty()) {
    box.received.push_back(request.get());
    return request;
  }
  Mailbox::Sent sent = std::move(box.sent.front());
  if (sent.step.bytes != step.bytes) sizes_differ(sent.step, step);
  box.sent.pop_front();
  request->value = sent.step.value;
  if (sent.arrival) {
    request->after = sent.after;
    request->arrival = std::move(sent.arrival);
    request->arrival->waiting = request.get();
    if (request->arrival->has_arrived) request->finish();
    return request;
  }
  if (step.bytes <= stack_.eager_limit.value)
    request->after = sent.after;  // it travels already
  else
    sent.request->after = moment;
  MessagePost post = post_of(step.peer, sent.step, sent.channel);
  post.listener = request.get();
  in_call(rank, [this, post] { transport_.post_recv(post); });
  return request;
}

void Session::record(int rank, Track track, const std::string& label, double begin_s,
                     std::int64_t bytes) {
  if (options_.timeline == nullptr || world_.now_s() <= begin_s) return;
  options_.timeline->add({.rank = rank,
                          .track = track,
                          .label = options_.timeline->label(label),
                          .begin_s = begin_s,
                          .end_s = world_.now_s(),
                          .bytes = bytes});
}

std::shared_ptr<Session::LocalRequest> Session::new_local(int rank, CauseLog::Moment moment,
                                                          Cause cause, const std::string& text,
                                                          std::optional<Phase> phase) {
  auto request = std::make_shared<LocalRequest>();
  request->session = this;
  request->rank = rank;
  request->after = moment;
  request->cause = cause;
  request->text = text;
  request->what = phase;
  under_way_->add(request);
  return request;
}

Request Session::timer(int rank, const Timer& timer, CauseLog::Moment moment) {
  const bool is_copy = timer.what == Timer::For::kCopy;
  const bool is_communication = timer.what == Timer::For::kCommunication ||
                                timer.what == Timer::For::kCorrection ||
                                timer.what == Timer::For::kOtherRanks;
  auto request = new_local(rank, moment, is_copy ? Cause::kCopy : Cause::kTimer,
                           name_of(timer.what), std::nullopt);
  if (is_communication) communicates(rank, +1);
  if (is_copy || is_communication)
    request->on_complete = [this, rank, what = timer.what, begin_s = world_.now_s()] {
      const bool is_of_group = what != Timer::For::kCopy;
      record(rank, is_of_group ? Track::kCollective : Track::kCopy, name_of(what), begin_s, 0);
      if (is_of_group) communicates(rank, -1);
    };
  world_.in_kernel([this, begun = request.get(), delay_s = timer.delay_s] {
    world_.after(delay_s, [begun] { begun->complete(); });
  });
  return request;
}

Request Session::work_on_host(int rank, const HostWork& work, CauseLog::Moment moment) {
  auto request = new_local(rank, moment, Cause::kHost, work.label, work.phase);
  const double begin_s = world_.now_s();
  request->on_complete = [this, rank, label = work.label, begin_s] {
    record(rank, Track::kHost, label, begin_s, 0);
  };
  // Half of the bytes are read, half written, each way at its share.
  const double flow_bytes = work.memory_bytes / 2;
  request->parts = flow_bytes > 0 ? 2 : 1;
  world_.in_kernel([this, rank, begun = request.get(), flow_bytes, duration_s = work.duration_s] {
    world_.after(duration_s, [begun] { begun->complete(); });
    if (flow_bytes <= 0) return;
    const Machine::Path& path = machine_.host_memory_path(rank);
    path.account(flow_bytes);
    world_.start_flow(path.links, flow_bytes, begun);
  });
  return request;
}

Request Session::copy(int rank, const HostCopy& copy, CauseLog::Moment moment) {
  FORESCALE_CHECK(rank < worker_count_, "a server has no GPU to copy from");
  auto request = new_local(rank, moment, Cause::kCopy, copy.label, copy.phase);
  const double begin_s = world_.now_s();
  request->on_complete = [this, rank, label = copy.label, bytes = copy.bytes, begin_s] {
    record(rank, Track::kCopy, label, begin_s, bytes);
  };
  const GpuModel& gpu = machine_.lanes().platform().gpu_models.front();
  const double call_s = gpu.kernel_launch.value + gpu.synchronize.value;
  world_.in_kernel([this, rank, to_host = copy.to_host, begun = request.get(),
                    bytes = static_cast<double>(copy.bytes), call_s] {
    const Machine::Path& path =
        to_host ? machine_.copy_out_path(rank) : machine_.copy_in_path(rank);
    world_.after(call_s, [this, &path, begun, bytes] {
      path.account(bytes);
      world_.start_flow(path.links, bytes, begun);
    });
  });
  return request;
}

Request Session::next_batch(int rank, CauseLog::Moment moment) {
  auto request = new_local(rank, moment, Cause::kInput, "training data", Phase::kInput);
  if (!reading_) {
    request->complete();
    return request;
  }
  reading_->next_batch(rank, [begun = request.get()] { begun->complete(); });
  return request;
}

}  // namespace forescale
