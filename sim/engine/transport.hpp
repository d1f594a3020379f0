// Messages between simulated ranks: matching, ports, overheads and flows, by the cost contract of
// models/stack.hpp.
//
// Matching is first in, first out by (channel, source, destination, queue). A matched rendez-vous
// message takes one send port of its source and one receive port of its destination together, or
// waits for both: nothing is held while waiting, so ports cannot deadlock.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/engine/machine.hpp"
#include "sim/engine/message_noise.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {

// Told about its messages. `index` is what it gave when posting.
class MessageListener {
 public:
  virtual void on_sent(std::int64_t index) = 0;       // the bytes have left, the port is free
  virtual void on_received(std::int64_t index) = 0;   // the receive port is free again
  virtual void on_delivered(std::int64_t index) = 0;  // the bytes may be used; after on_received

 protected:
  ~MessageListener() = default;
};

// Whether a rank can advance communication right now, and what to do once it can.
class ProgressGate {
 public:
  virtual bool can_progress(int rank) const = 0;
  virtual void when_progressing(int rank, std::function<void()> action) = 0;

 protected:
  ~ProgressGate() = default;
};

struct MessagePost {
  std::uint64_t channel = 0;  // separates collectives and tags; a lower one was started earlier
  int source = 0;
  int destination = 0;
  std::int64_t bytes = 0;
  MessageKind kind = BufferPlace::kGpu;
  MessageListener* listener = nullptr;
  std::int64_t index = 0;
  int queue = 0;         // of its plan (algorithms/plan.hpp): matched inside it
  int connection = 0;    // of those between the two ranks, where ports are not a rank's
  int label = 0;         // of the timeline
  bool control = false;  // not payload
};

struct TransportOptions {
  Timeline* timeline = nullptr;   // null: not recorded
  bool explicit_staging = false;  // staged messages segment by segment, not by the fill formula
  MessageNoise noise = {};
};

class Transport {
 public:
  Transport(Machine& machine, ProgressGate& gate, TransportOptions options);
  ~Transport();

  // Kernel context only.
  void post_send(const MessagePost& post);
  void post_recv(const MessagePost& post);

  std::uint64_t message_count() const { return message_count_; }
  double bytes_sent() const { return bytes_sent_; }
  // Of those, the bytes of negotiation, requests and notifications.
  double control_bytes() const { return control_bytes_; }
  // Of those that are payload.
  const MessageSizes& sizes() const { return sizes_; }
  // Messages that were posted at one side only, for reports: text like "rank 3 waits to receive
  // 128 bytes from rank 2".
  std::vector<std::string> unmatched() const;
  // Why the simulation stopped, when a link failed under a message.
  void set_failure_handler(std::function<void(const std::string&)> handler) {
    on_failure_ = std::move(handler);
  }

 private:
  struct Key {
    std::uint64_t channel = 0;
    std::uint64_t pair = 0;
    int queue = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>(
          (key.channel * 0x9E3779B97F4A7C15ULL) ^
          ((key.pair + static_cast<std::uint64_t>(key.queue)) * 0xC2B2AE3D27D4EB4FULL));
    }
  };
  class Message;
  struct Queue {                  // short: a plan posts one or a few at a time
    std::vector<Message*> sends;  // waiting for a receive
    std::vector<MessagePost> receives;
  };
  struct Ports {
    std::vector<int> free_sends;  // channels
    int free_receives = 0;
    double proxy_free_s = 0;  // when the rank's proxy thread has done all that it was given
    std::vector<Message*> waiting_sends;  // matched, but may not start
    std::vector<Message*> waiting_receives;
    bool watched = false;  // looked at again when the rank can act
  };

  Ports& ports(int rank) { return ports_[static_cast<size_t>(machine_.stands_for(rank))]; }
  Message* new_message(const MessagePost& post);
  double noise_of(const MessagePost& post);
  void recycle(Message* message);
  void try_start(Message* message);
  static void enqueue(std::vector<Message*>& waiting, Message* message);
  bool may_start(const Message& message);
  void watch(int rank);
  bool start_one_of(const std::vector<Message*>& waiting);
  void start_eager_flow(Message* message);
  void eager_flow_done(Message* message);
  int take_ports(const MessagePost& send);  // the send port
  void release_send_port(int rank, int port);
  void release_receive_port(int rank);
  double proxy_wait_s(int rank, double work_s);

  Machine& machine_;
  World& world_;
  ProgressGate& gate_;
  Timeline* timeline_;
  bool explicit_staging_;
  MessageNoise noise_;
  std::vector<std::uint64_t> sent_by_;  // messages so far, by rank, where there is noise
  bool ranks_have_ports_;  // else collectives keep to their channels, and other messages to none
  std::unordered_map<Key, Queue, KeyHash> queues_;
  std::vector<Ports> ports_;
  // Eager messages of a pair travel one after the other, as over one connection; by pair, the first
  // one is under way.
  std::unordered_map<std::uint64_t, std::deque<Message*>> eager_;
  std::vector<std::unique_ptr<Message>> pool_;
  std::vector<Message*> free_;
  std::function<void(const std::string&)> on_failure_;
  std::uint64_t message_count_ = 0;
  double bytes_sent_ = 0;
  double control_bytes_ = 0;
  MessageSizes sizes_;
};

}  // namespace forescale
