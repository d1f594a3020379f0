#include "sim/engine/transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "sim/engine/staged_transfer.hpp"

namespace forescale {

namespace {

constexpr std::int64_t kControlBytes = 8192;

// A request or a notification of a packet or two, and what the stack calls a packet, slips in
// between the others: no flow, for which all others would be solved anew.
bool is_packet(const MessagePost& post, const Stack& stack) {
  return post.bytes <= (post.control ? kControlBytes : stack.packet_limit.value);
}

std::uint64_t pair_of(int source, int destination) {
  return (static_cast<std::uint64_t>(source) << 32) | static_cast<std::uint32_t>(destination);
}

}  // namespace

// A message from its send to its delivery. It is in one stage at a time, and only advance() takes
// it to the next. Eager ones skip what waits for the receiver, and meet their receive when they are
// there.
class Transport::Message final : public Completion {
 public:
  Message(Transport& owner, const MessagePost& post, double noise)
      : transport_(owner),
        send_(post),
        lane_(&owner.machine_.lanes().lane(post.source, post.destination, post.kind, post.bytes)),
        cost_(owner.machine_.lanes().cost(*lane_, post.bytes)),
        is_eager_(owner.machine_.lanes().is_eager(post.bytes)),
        is_staged_(owner.explicit_staging_ && !lane_->stages.empty() && !is_eager_ &&
                   post.bytes > 0),
        noise_(noise),
        proxy_s_(lane_->rule->o_proxy.value) {
    for (double* time_s : {&cost_.hold_s, &cost_.o_recv_s, &cost_.deliver_s, &proxy_s_})
      *time_s *= noise;
  }

  const MessagePost& send() const { return send_; }
  bool is_eager() const { return is_eager_; }
  bool is_staged() const { return is_staged_; }

  // It is in its queue, or matched: eager ones leave, whether or not anybody receives.
  void begin() {
    if (is_eager_) advance();
  }

  void match(const MessagePost& receive) {
    FORESCALE_CHECK(send_.bytes == receive.bytes,
                    fmt::format("rank {} sends {} bytes, rank {} receives {}", receive.source,
                                send_.bytes, receive.destination, receive.bytes));
    receive_ = receive;
    if (stage_ == (is_eager_ ? Stage::kThere : Stage::kPosted)) advance();
  }

  // Both ports are free, and the receiver can act.
  void start() { advance(); }

  // The flow of its eager bytes may begin: those of the pair before it have crossed.
  void start_flow() {
    const double bytes = wire_bytes();
    const double spared = transport_.machine_.enter(*path_, bytes);
    world().start_flow(path_->links, bytes - spared, this);
  }

  void complete() override {
    if (stage_ == Stage::kCrossing) {
      transport_.machine_.leave(*path_);
      if (is_eager_) transport_.eager_flow_done(this);
    }
    advance();
  }
  void failed() override {
    transport_.on_failure_(fmt::format("a link failed under {} bytes from rank {} to rank {}",
                                       send_.bytes, send_.source, send_.destination));
  }

 private:
  enum class Stage {
    kPosted,                  // by its sender
    kWaiting,                 // matched; for both ports and a receiver that can act
    kOnCores,                 // o_send, on the cores that ranks share
    kPreparing,               // what else comes before the bytes
    kCrossing,                // the bytes do
    kReceivingWhileDraining,  // o_recv, with segments still in later stages of the pipeline
    kReceiving,               // o_recv
    kDraining,                // segments are still in later stages
    kDelivering,              // until the bytes are there
    kAtProxy,                 // until the receiver's proxy thread has seen them
    kArriving,                // eager: latency
    kThere,                   // eager: matched or not
    kCopying,                 // eager: o_recv, and out of the receiver's buffer
    kDone
  };

  // What held it up in this stage is over.
  void advance() {
    switch (stage_) {
      case Stage::kPosted:
        if (is_eager_) return prepare_eager();
        stage_ = Stage::kWaiting;
        return transport_.try_start(this);
      case Stage::kWaiting:
        return prepare_rendez_vous();
      case Stage::kOnCores:
        return prepare(own_s_);
      case Stage::kPreparing:
        stage_ = Stage::kCrossing;
        return cross();
      case Stage::kCrossing:
        if (is_eager_) return wait_in(Stage::kArriving, cost_.deliver_s - proxy_s_);
        leave_sender();
        return wait_in(is_staged_ ? Stage::kReceivingWhileDraining : Stage::kReceiving,
                       cost_.o_recv_s);
      case Stage::kReceivingWhileDraining:
        stage_ = Stage::kDraining;
        return leave_receiver();
      case Stage::kReceiving:
        leave_receiver();
        return wait_in(Stage::kDelivering, cost_.deliver_s - proxy_s_);
      case Stage::kDraining:
        return wait_in(Stage::kDelivering, cost_.deliver_s);
      case Stage::kDelivering:
        return wait_in(Stage::kAtProxy, at_proxy_s(send_.destination));
      case Stage::kAtProxy:
        return deliver();
      case Stage::kArriving:
        stage_ = Stage::kThere;
        if (!receive_) return;
        [[fallthrough]];
      case Stage::kThere:
        return wait_in(Stage::kCopying,
                       at_proxy_s(send_.destination) + cost_.o_recv_s + eager_copy_s_);
      case Stage::kCopying:
        return deliver_eager();
      case Stage::kDone:
        return;
    }
  }

  double wire_bytes() const { return noise_ * Lanes::wire_bytes(*lane_, send_.bytes); }

  void wait_in(Stage stage, double delay_s) {
    stage_ = stage;
    if (delay_s > 0)
      world().after(delay_s, [this] { advance(); });
    else
      advance();
  }

  // The sender goes on after its own copy.
  void prepare_eager() {
    eager_copy_s_ = transport_.machine_.lanes().eager_copy_s(send_.bytes);
    path_ = &transport_.machine_.path(*lane_, 0);
    path_->account(wire_bytes());
    prepare_on_cores(eager_copy_s_);
  }

  void prepare_rendez_vous() {
    port_ = transport_.take_ports(send_);
    path_ = &transport_.machine_.path(*lane_, port_);
    path_->account(wire_bytes());
    begin_s_ = world().now_s();
    if (is_staged_)
      prepare_staged();
    else
      prepare_on_cores(0);
  }

  // What holds the ports before the bytes, and `more_s`; o_send on the cores that ranks share.
  void prepare_on_cores(double more_s) {
    const int cores = transport_.machine_.shared_cores();
    const double shared_s = cores >= 0 ? lane_->rule->o_send.value : 0;
    own_s_ = std::max(0.0, cost_.hold_s - proxy_s_ - shared_s) + at_proxy_s(send_.source) + more_s;
    if (shared_s <= 0) return prepare(own_s_);
    stage_ = Stage::kOnCores;
    world().in_kernel([this, cores, shared_s] { world().start_task(cores, shared_s, this); });
  }

  // Until the rank's proxy thread has done what came before, and this.
  double at_proxy_s(int rank) { return proxy_s_ > 0 ? transport_.proxy_wait_s(rank, proxy_s_) : 0; }

  void prepare(double own_s) {
    stage_ = Stage::kPreparing;
    if (own_s > 0)
      world().after(own_s, [this] { advance(); });
    else
      world().in_kernel([this] { advance(); });
  }

  // o_send (and latency, if it holds the ports), then the segments, then what delays delivery.
  void prepare_staged() {
    const double latency_s = lane_->route_latency_s + lane_->rule->latency.value;
    const bool holds = transport_.machine_.lanes().stack().latency_holds_ports;
    cost_.deliver_s = holds ? 0 : latency_s;
    stage_ = Stage::kPreparing;
    world().after(lane_->rule->o_send.value + (holds ? latency_s : 0), [this] { advance(); });
  }

  void cross() {
    if (lane_->lost) return lose();
    if (!is_eager_) {
      if (is_staged_)
        cross_staged();
      else
        start_flow();
      return;
    }
    send_.listener->on_sent(send_.index);
    if (is_packet(send_, transport_.machine_.lanes().stack()))
      wait_in(Stage::kCrossing,
              noise_ * static_cast<double>(send_.bytes) / cost_.bandwidth_bytes_per_s);
    else
      transport_.start_eager_flow(this);
  }

  void lose() {
    transport_.on_failure_(fmt::format(
        "{} bytes from rank {} to rank {} are lost on {} (--link ...=down is gone around)",
        send_.bytes, send_.source, send_.destination,
        transport_.machine_.lanes().platform().capacity_name(*lane_->lost)));
  }

  void cross_staged() {
    staged_ = std::make_unique<StagedTransfer>(
        world(), StagedTransferSpec{.bytes = send_.bytes,
                                    .segment_bytes = lane_->rule->segment.value,
                                    .segment_overhead_s = lane_->rule->segment_overhead.value,
                                    .stages = &transport_.machine_.stage_paths(*lane_),
                                    .slowest_stage = lane_->slowest_stage(),
                                    .on_moved = [this] { advance(); },
                                    .on_delivered = [this] { drained(); }});
    staged_->start();
  }

  // Perhaps before o_recv is over.
  void drained() {
    if (stage_ == Stage::kReceivingWhileDraining)
      stage_ = Stage::kReceiving;
    else
      advance();
  }

  void leave_sender() {
    if (transport_.timeline_ != nullptr) {
      record(send_.source, Track::kSend, send_.label, send_.destination);
      record(send_.destination, Track::kReceive, receive_->label, send_.source);
    }
    transport_.release_send_port(send_.source, port_);
    send_.listener->on_sent(send_.index);
  }

  void record(int rank, Track track, int label, int peer) {
    transport_.timeline_->add({.rank = transport_.machine_.stands_for(rank),
                               .track = track,
                               .label = label,
                               .begin_s = begin_s_,
                               .end_s = world().now_s(),
                               .peer = peer,
                               .bytes = send_.bytes});
  }

  void leave_receiver() {
    transport_.release_receive_port(send_.destination);
    receive_->listener->on_received(receive_->index);
  }

  // The transport may use it again from here on.
  MessagePost finish() {
    stage_ = Stage::kDone;
    const MessagePost receive = *receive_;
    transport_.recycle(this);
    return receive;
  }
  void deliver() {
    const MessagePost receive = finish();
    receive.listener->on_delivered(receive.index);
  }
  void deliver_eager() {
    const MessagePost receive = finish();
    receive.listener->on_received(receive.index);
    receive.listener->on_delivered(receive.index);
  }

  World& world() { return transport_.world_; }

  Transport& transport_;
  MessagePost send_;
  std::optional<MessagePost> receive_;  // once it is matched
  const Lane* lane_;
  LaneCost cost_;
  bool is_eager_;
  bool is_staged_;  // explicitly
  double noise_;
  double proxy_s_;  // of either end's proxy thread
  Stage stage_ = Stage::kPosted;
  const Machine::Path* path_ = nullptr;
  std::unique_ptr<StagedTransfer> staged_;
  int port_ = 0;
  double begin_s_ = 0;
  double own_s_ = 0;  // of preparing, not on shared cores
  double eager_copy_s_ = 0;
};

Transport::Transport(Machine& machine, ProgressGate& gate, TransportOptions options)
    : machine_(machine),
      world_(machine.world()),
      gate_(gate),
      timeline_(options.timeline),
      explicit_staging_(options.explicit_staging),
      noise_(std::move(options.noise)),
      ranks_have_ports_(machine.lanes().stack().channels_of == ChannelsOf::kRank) {
  const int channels = machine.lanes().stack().channels;
  ports_.resize(static_cast<size_t>(machine.rank_count()));
  for (Ports& each : ports_) {
    each.free_receives = channels;
    for (int channel = channels; channel-- > 0;) each.free_sends.push_back(channel);
  }
}

Transport::~Transport() = default;

Transport::Message* Transport::new_message(const MessagePost& post) {
  ++message_count_;
  if (post.control)
    control_bytes_ += static_cast<double>(post.bytes);
  else if (post.bytes > 0)
    sizes_.add(post.bytes);
  bytes_sent_ += static_cast<double>(post.bytes);
  if (free_.empty()) {
    pool_.push_back(std::make_unique<Message>(*this, post, noise_of(post)));
    return pool_.back().get();
  }
  Message* message = free_.back();
  free_.pop_back();
  std::destroy_at(message);
  return std::construct_at(message, *this, post, noise_of(post));
}

double Transport::noise_of(const MessagePost& post) {
  if (!noise_.varies()) return 1;
  sent_by_.resize(ports_.size());
  return noise_.factor(post.source, sent_by_[static_cast<size_t>(post.source)]++);
}

// What it owns may be on the call stack: it is used again by a later event only.
void Transport::recycle(Message* message) {
  if (message->is_staged())
    world_.after(0, [this, message] { free_.push_back(message); });
  else
    free_.push_back(message);
}

void Transport::post_send(const MessagePost& post) {
  Message* message = new_message(post);
  const Key key{post.channel, pair_of(post.source, post.destination), post.queue};
  auto [entry, fresh] = queues_.try_emplace(key);
  Queue& queue = entry->second;
  if (queue.receives.empty()) {
    queue.sends.push_back(message);
  } else {
    const MessagePost receive = queue.receives.front();
    queue.receives.erase(queue.receives.begin());
    if (queue.receives.empty() && queue.sends.empty()) queues_.erase(entry);
    message->match(receive);
  }
  message->begin();
}

void Transport::post_recv(const MessagePost& post) {
  const Key key{post.channel, pair_of(post.source, post.destination), post.queue};
  auto [entry, fresh] = queues_.try_emplace(key);
  Queue& queue = entry->second;
  if (queue.sends.empty()) {
    queue.receives.push_back(post);
    return;
  }
  Message* message = queue.sends.front();
  queue.sends.erase(queue.sends.begin());
  if (queue.receives.empty() && queue.sends.empty()) queues_.erase(entry);
  message->match(post);
}

void Transport::try_start(Message* message) {
  if (may_start(*message)) {
    message->start();
    return;
  }
  enqueue(ports(message->send().source).waiting_sends, message);
  enqueue(ports(message->send().destination).waiting_receives, message);
}

// Messages of the collective that was started first come first: a library posts all of a
// collective's ready messages before the next collective is called.
void Transport::enqueue(std::vector<Message*>& waiting, Message* message) {
  waiting.insert(std::upper_bound(waiting.begin(), waiting.end(), message,
                                  [](const Message* a, const Message* b) {
                                    return a->send().channel < b->send().channel;
                                  }),
                 message);
}

// Both ports free, and the receiver able to act: it pulls a rendez-vous message (it posts the read,
// or the copies of a staged one).
bool Transport::may_start(const Message& message) {
  const int destination = message.send().destination;
  if (!gate_.can_progress(destination)) {
    watch(destination);
    return false;
  }
  if (!ranks_have_ports_) return true;
  return !ports(message.send().source).free_sends.empty() && ports(destination).free_receives > 0;
}

// Looks at a rank's waiting messages again once it can act.
void Transport::watch(int rank) {
  bool& watched = ports_[static_cast<size_t>(rank)].watched;
  if (watched) return;
  watched = true;
  gate_.when_progressing(rank, [this, rank] {
    ports_[static_cast<size_t>(rank)].watched = false;
    while (start_one_of(ports(rank).waiting_receives)) {
    }
  });
}

// Starts the first message of a waiting list that may; false: none.
bool Transport::start_one_of(const std::vector<Message*>& waiting) {
  for (Message* message : waiting) {
    if (!may_start(*message)) continue;
    std::erase(ports(message->send().source).waiting_sends, message);
    std::erase(ports(message->send().destination).waiting_receives, message);
    message->start();
    return true;
  }
  return false;
}

void Transport::start_eager_flow(Message* message) {
  std::deque<Message*>& queue =
      eager_[pair_of(message->send().source, message->send().destination)];
  queue.push_back(message);
  if (queue.size() == 1) message->start_flow();
}

void Transport::eager_flow_done(Message* message) {
  const auto entry = eager_.find(pair_of(message->send().source, message->send().destination));
  entry->second.pop_front();
  if (entry->second.empty())
    eager_.erase(entry);
  else
    entry->second.front()->start_flow();
}

int Transport::take_ports(const MessagePost& send) {
  if (!ranks_have_ports_) return send.connection;
  std::vector<int>& free = ports(send.source).free_sends;
  const int port = free.back();
  free.pop_back();
  --ports(send.destination).free_receives;
  return port;
}

void Transport::release_send_port(int rank, int port) {
  if (!ranks_have_ports_) return;
  Ports& of_rank = ports(rank);
  of_rank.free_sends.push_back(port);
  start_one_of(of_rank.waiting_sends);
}

void Transport::release_receive_port(int rank) {
  if (!ranks_have_ports_) return;
  Ports& of_rank = ports(rank);
  ++of_rank.free_receives;
  start_one_of(of_rank.waiting_receives);
}

double Transport::proxy_wait_s(int rank, double work_s) {
  double& free_s = ports(rank).proxy_free_s;
  free_s = std::max(free_s, world_.now_s()) + work_s;
  return free_s - world_.now_s();
}

std::vector<std::string> Transport::unmatched() const {
  std::vector<std::string> lines;
  for (const auto& [key, queue] : queues_) {
    for (const Message* message : queue.sends)
      if (!message->is_eager())
        lines.push_back(fmt::format("rank {} waits to send {} bytes to rank {}",
                                    message->send().source, message->send().bytes,
                                    message->send().destination));
    for (const MessagePost& receive : queue.receives)
      lines.push_back(fmt::format("rank {} waits to receive {} bytes from rank {}",
                                  receive.destination, receive.bytes, receive.source));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace forescale
