#include "sim/engine/transport.hpp"

#include <fmt/format.h>

#include <algorithm>

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

class Transport::Message final : public Completion {
 public:
  explicit Message(Transport& owner) : transport(owner) {}

  void complete() override {
    transport.machine_.leave(*path);
    if (eager) {
      transport.eager_flow_done(this);
      arrived();
    } else {
      moved();
    }
  }
  void failed() override {
    transport.on_failure_(fmt::format("a link failed under {} bytes from rank {} to rank {}",
                                      send.bytes, send.source, send.destination));
  }

  // Rendez-vous: the bytes have crossed.
  void moved() {
    const double now = transport.world_.now_s();
    if (transport.timeline_ != nullptr) {
      transport.timeline_->add({.rank = send.source,
                                .track = Track::kSend,
                                .label = send.label,
                                .begin_s = begin_s,
                                .end_s = now,
                                .peer = send.destination,
                                .bytes = send.bytes});
      transport.timeline_->add({.rank = send.destination,
                                .track = Track::kReceive,
                                .label = receive.label,
                                .begin_s = begin_s,
                                .end_s = now,
                                .peer = send.source,
                                .bytes = send.bytes});
    }
    transport.release_send_port(send.source, channel);
    send.listener->on_sent(send.index);
    delay(cost.o_recv_s, &Message::received);
  }

  void received() {
    transport.release_receive_port(send.destination);
    receive.listener->on_received(receive.index);
    port_is_free = true;
    if (stages_left == 0) delay(cost.deliver_s, &Message::delivered);
  }

  // Explicit staging: the pipeline has drained, perhaps before o_recv is over.
  void all_stages_done() {
    stages_left = 0;
    if (port_is_free) delay(cost.deliver_s, &Message::delivered);
  }

  void delivered() {
    MessageListener* listener = receive.listener;
    const std::int64_t index = receive.index;
    transport.recycle(this);
    listener->on_delivered(index);
  }

  // Eager: the bytes are at the receiver, matched or not.
  void arrived() { delay(cost.deliver_s, &Message::eager_ready); }
  void eager_ready() {
    is_there = true;
    if (matched) eager_deliver();
  }
  void eager_deliver() { delay(cost.o_recv_s + eager_copy_s, &Message::eager_received); }
  void eager_received() {
    MessageListener* listener = receive.listener;
    const std::int64_t index = receive.index;
    transport.recycle(this);
    listener->on_received(index);
    listener->on_delivered(index);
  }

  void delay(double delay_s, void (Message::*next)()) {
    if (delay_s > 0)
      transport.world_.after(delay_s, [this, next] { (this->*next)(); });
    else
      (this->*next)();
  }

  Transport& transport;
  MessagePost send;
  MessagePost receive;
  const Lane* lane = nullptr;
  const Machine::Path* path = nullptr;
  LaneCost cost;
  double eager_copy_s = 0;
  Continuation preparing;
  double begin_s = 0;
  int channel = 0;
  bool eager = false;
  bool matched = false;
  bool is_there = false;
  int stages_left = 0;  // explicit staging: 1 until the last stage is done
  bool port_is_free = false;
};

Transport::Transport(Machine& machine, ProgressGate& gate, TransportOptions options)
    : machine_(machine),
      world_(machine.world()),
      gate_(gate),
      timeline_(options.timeline),
      explicit_staging_(options.explicit_staging),
      ranks_have_ports_(!machine.lanes().stack().channels_of_collective) {
  const int channels = machine.lanes().stack().channels;
  ports_.resize(static_cast<size_t>(machine.rank_count()));
  for (Ports& ports : ports_) {
    ports.free_receives = channels;
    for (int channel = channels; channel-- > 0;) ports.free_sends.push_back(channel);
  }
}

Transport::~Transport() = default;

Transport::Message* Transport::new_message(const MessagePost& post) {
  if (free_.empty()) {
    pool_.push_back(std::make_unique<Message>(*this));
    free_.push_back(pool_.back().get());
  }
  Message* message = free_.back();
  free_.pop_back();
  const Lane& lane = machine_.lanes().lane(post.source, post.destination, post.kind, post.bytes);
  message->send = post;
  message->cost = machine_.lanes().cost(lane, post.bytes);
  message->lane = &lane;
  message->eager = machine_.lanes().is_eager(post.bytes);
  message->matched = false;
  message->is_there = false;
  message->stages_left = explicit_staging_ && !lane.stages.empty() && !message->eager ? 1 : 0;
  message->port_is_free = false;
  ++message_count_;
  if (post.control) control_bytes_ += static_cast<double>(post.bytes);
  bytes_sent_ += static_cast<double>(post.bytes);
  return message;
}

void Transport::recycle(Message* message) { free_.push_back(message); }

void Transport::post_send(const MessagePost& post) {
  Message* message = new_message(post);
  const Key key{post.channel, pair_of(post.source, post.destination)};
  auto [entry, fresh] = queues_.try_emplace(key);
  Queue& queue = entry->second;
  if (message->eager) {
    // The sender goes on after its own copy, whether or not anybody receives.
    message->eager_copy_s = machine_.lanes().eager_copy_s(post.bytes);
    message->path = &machine_.path(*message->lane, 0);
    message->path->account(Lanes::wire_bytes(*message->lane, post.bytes));
    prepare(message, message->eager_copy_s, [this, message] {
      message->send.listener->on_sent(message->send.index);
      if (is_packet(message->send, machine_.lanes().stack()))
        message->delay(
            static_cast<double>(message->send.bytes) / message->cost.bandwidth_bytes_per_s,
            &Message::arrived);
      else
        start_eager_flow(message);
    });
  }
  if (queue.receives.empty()) {
    queue.sends.push_back(message);
    return;
  }
  const MessagePost receive = queue.receives.front();
  queue.receives.erase(queue.receives.begin());
  if (queue.receives.empty() && queue.sends.empty()) queues_.erase(entry);
  match(message, receive);
}

void Transport::post_recv(const MessagePost& post) {
  const Key key{post.channel, pair_of(post.source, post.destination)};
  auto [entry, fresh] = queues_.try_emplace(key);
  Queue& queue = entry->second;
  if (queue.sends.empty()) {
    queue.receives.push_back(post);
    return;
  }
  Message* message = queue.sends.front();
  queue.sends.erase(queue.sends.begin());
  if (queue.receives.empty() && queue.sends.empty()) queues_.erase(entry);
  match(message, post);
}

void Transport::match(Message* message, const MessagePost& receive) {
  FORESCALE_CHECK(message->send.bytes == receive.bytes,
                  fmt::format("rank {} sends {} bytes, rank {} receives {}", receive.source,
                              message->send.bytes, receive.destination, receive.bytes));
  message->receive = receive;
  message->matched = true;
  if (message->eager) {
    if (message->is_there) message->eager_deliver();
    return;
  }
  try_start(message);
}

void Transport::try_start(Message* message) {
  if (may_start(*message)) {
    start(message);
    return;
  }
  enqueue(ports_[static_cast<size_t>(message->send.source)].waiting_sends, message);
  enqueue(ports_[static_cast<size_t>(message->send.destination)].waiting_receives, message);
}

// Messages of the collective that was started first come first: a library posts all of a
// collective's ready messages before the next collective is called.
void Transport::enqueue(std::vector<Message*>& waiting, Message* message) {
  waiting.insert(std::upper_bound(waiting.begin(), waiting.end(), message,
                                  [](const Message* a, const Message* b) {
                                    return a->send.channel < b->send.channel;
                                  }),
                 message);
}

// Both ports free, and the receiver able to act: it pulls a rendez-vous message (it posts the read,
// or the copies of a staged one).
bool Transport::may_start(const Message& message) {
  const int destination = message.send.destination;
  if (!gate_.can_progress(destination)) {
    watch(destination);
    return false;
  }
  if (!ranks_have_ports_) return true;
  return !ports_[static_cast<size_t>(message.send.source)].free_sends.empty() &&
         ports_[static_cast<size_t>(destination)].free_receives > 0;
}

// Looks at a rank's waiting messages again once it can act.
void Transport::watch(int rank) {
  bool& watched = ports_[static_cast<size_t>(rank)].watched;
  if (watched) return;
  watched = true;
  gate_.when_progressing(rank, [this, rank] {
    Ports& ports = ports_[static_cast<size_t>(rank)];
    ports.watched = false;
    while (start_one_of(ports.waiting_receives)) {
    }
  });
}

// Starts the first message of a waiting list that may; false: none.
bool Transport::start_one_of(const std::vector<Message*>& waiting) {
  for (Message* message : waiting) {
    if (!may_start(*message)) continue;
    std::erase(ports_[static_cast<size_t>(message->send.source)].waiting_sends, message);
    std::erase(ports_[static_cast<size_t>(message->send.destination)].waiting_receives, message);
    start(message);
    return true;
  }
  return false;
}

void Transport::start(Message* message) {
  take_ports(*message);
  message->path = &machine_.path(*message->lane, message->channel);
  message->path->account(Lanes::wire_bytes(*message->lane, message->send.bytes));
  message->begin_s = world_.now_s();
  if (explicit_staging_ && !message->lane->stages.empty() && message->send.bytes > 0) {
    start_explicitly(message);
    return;
  }
  prepare(message, 0, [this, message] { start_flow(message); });
}

// What holds the ports before the bytes, and `more_s`; o_send on the cores that ranks share.
void Transport::prepare(Message* message, double more_s, std::function<void()> then) {
  const double shared_s = machine_.shared_cores() >= 0 ? message->lane->rule->o_send.value : 0;
  const double own_s = message->cost.hold_s - shared_s + more_s;
  auto own = [this, own_s, then = std::move(then)] {
    if (own_s > 0)
      world_.after(own_s, then);
    else
      world_.in_kernel(then);
  };
  if (shared_s <= 0) {
    own();
    return;
  }
  message->preparing.then = std::move(own);
  world_.in_kernel([this, message, shared_s] {
    world_.start_task(machine_.shared_cores(), shared_s, &message->preparing);
  });
}

void Transport::start_flow(Message* message) {
  const double bytes = Lanes::wire_bytes(*message->lane, message->send.bytes);
  const double spared = machine_.enter(*message->path, bytes);
  world_.start_flow(message->path->links, bytes - spared, message);
}

void Transport::start_eager_flow(Message* message) {
  std::deque<Message*>& queue = eager_[pair_of(message->send.source, message->send.destination)];
  queue.push_back(message);
  if (queue.size() == 1) start_flow(message);
}

void Transport::eager_flow_done(Message* message) {
  const auto entry = eager_.find(pair_of(message->send.source, message->send.destination));
  entry->second.pop_front();
  if (entry->second.empty())
    eager_.erase(entry);
  else
    start_flow(entry->second.front());
}

// o_send (and latency, if it holds the ports), then the segments, then what delays delivery.
void Transport::start_explicitly(Message* message) {
  const Lane& lane = *message->lane;
  const PathRule& rule = *lane.rule;
  const double latency_s = lane.route_latency_s + rule.latency.value;
  const bool holds = machine_.lanes().stack().latency_holds_ports;
  message->cost.deliver_s = holds ? 0 : latency_s;
  world_.after(rule.o_send.value + (holds ? latency_s : 0), [this, message, &lane, &rule] {
    start_staged_transfer(world_, {.bytes = message->send.bytes,
                                   .segment_bytes = rule.segment.value,
                                   .segment_overhead_s = rule.segment_overhead.value,
                                   .stages = &machine_.stage_paths(lane),
                                   .slowest_stage = lane.slowest_stage(),
                                   .on_moved = [message] { message->moved(); },
                                   .on_delivered = [message] { message->all_stages_done(); }});
  });
}

void Transport::take_ports(Message& message) {
  message.channel = 0;
  if (!ranks_have_ports_) return;
  std::vector<int>& channels = ports_[static_cast<size_t>(message.send.source)].free_sends;
  message.channel = channels.back();
  channels.pop_back();
  --ports_[static_cast<size_t>(message.send.destination)].free_receives;
}

void Transport::release_send_port(int rank, int channel) {
  if (!ranks_have_ports_) return;
  Ports& ports = ports_[static_cast<size_t>(rank)];
  ports.free_sends.push_back(channel);
  start_one_of(ports.waiting_sends);
}

void Transport::release_receive_port(int rank) {
  if (!ranks_have_ports_) return;
  Ports& ports = ports_[static_cast<size_t>(rank)];
  ++ports.free_receives;
  start_one_of(ports.waiting_receives);
}

std::vector<std::string> Transport::unmatched() const {
  std::vector<std::string> lines;
  for (const auto& [key, queue] : queues_) {
    for (const Message* message : queue.sends)
      if (!message->eager)
        lines.push_back(fmt::format("rank {} waits to send {} bytes to rank {}",
                                    message->send.source, message->send.bytes,
                                    message->send.destination));
    for (const MessagePost& receive : queue.receives)
      lines.push_back(fmt::format("rank {} waits to receive {} bytes from rank {}",
                                  receive.destination, receive.bytes, receive.source));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace forescale
