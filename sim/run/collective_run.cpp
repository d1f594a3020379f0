#include "sim/run/collective_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

#include "algorithms/operation.hpp"
#include "algorithms/pieces/plan_window.hpp"
#include "base/error.hpp"
#include "sim/engine/local_work.hpp"

namespace forescale {
namespace {

bool is_send(const Op& op) { return op.kind == OpKind::kSend; }

}  // namespace

// One rank's plan.
class CollectiveRun::Member final : public MessageListener {
 public:
  Member(CollectiveRun& run, int index)
      : run_(run),
        index_(index),
        has_queues_(run.machine_.lanes().stack().channels_of == ChannelsOf::kQueue),
        work_(run.machine_, {.rank = run.settings_.ranks[static_cast<size_t>(index)],
                             .place = run.settings_.place,
                             .through_host_bandwidth = run.settings_.through_host_bandwidth,
                             .timeline = run.timeline_,
                             .label = run.label_}) {}

  void join(std::function<void()> on_done) {
    on_done_ = std::move(on_done);
    stage_ = Stage::kPreparing;
    if (run_.settings_.call_s > 0)
      run_.machine_.world().after(run_.settings_.call_s, [this] { prepare(); });
    else
      prepare();
  }

  void on_sent(std::int64_t index) override {
    progress([this, index] {
      --in_flight(slot(index).op).sends;
      slot(index).stage = OpStage::kDone;
      advance_after(slot(index).op);
    });
  }

  void on_received(std::int64_t index) override {
    const Op op = slot(index).op;
    const bool holds = op.kind == OpKind::kRecvReduce && !reduction().overlaps_transfer &&
                       reduction().place != ReductionPlace::kFree;
    if (holds) return;  // the receiver is busy until the reduction is done
    progress([this, op] {
      --in_flight(op).receives;
      advance_after(op);
    });
  }

  void on_delivered(std::int64_t index) override {
    if (slot(index).op.kind != OpKind::kRecvReduce || reduction().place == ReductionPlace::kFree) {
      progress([this, index] { receive_done(index); });
      return;
    }
    progress([this, index] { queue_reduction(index); });
  }

  std::string describe() const {
    if (stage_ == Stage::kNotCalled) return "has not called it";
    std::string text;
    for (std::int64_t i = window_.begin(); i < window_.end() && text.empty(); ++i)
      if (slot(i).stage != OpStage::kDone) text = describe(i);
    return text.empty() ? "has no operation left" : text;
  }

 private:
  void prepare() {
    if (run_.settings_.through_host && what().has_input(index_, run_.settings_.call.root)) {
      work_.copy_to_host(run_.settings_.call.bytes, [this] { begin(); });
    } else {
      begin();
    }
  }

  PlanSlot& slot(std::int64_t index) { return window_.at(index); }
  const PlanSlot& slot(std::int64_t index) const { return window_.at(index); }
  int world_rank() const { return run_.settings_.ranks[static_cast<size_t>(index_)]; }
  const ReductionRule& reduction() const { return work_.reduction(); }
  const Operation& what() const { return operation(run_.settings_.collective->op); }

  std::string describe(std::int64_t index) const {
    const Op& op = slot(index).op;
    if (op.kind == OpKind::kCopy) return fmt::format("operation {} copies", index);
    const int peer = run_.settings_.ranks[static_cast<size_t>(op.peer)];
    return fmt::format("operation {} {} {} bytes {} rank {}", index,
                       is_send(op) ? "sends" : "receives", op.bytes, is_send(op) ? "to" : "from",
                       peer);
  }

  void progress(std::function<void()> action) {
    const int rank = world_rank();
    if (run_.gate_.can_progress(rank))
      action();
    else
      run_.gate_.when_progressing(rank, std::move(action));
  }

  void begin() {
    const Settings& settings = run_.settings_;
    stream_ = message_plan(*settings.collective, settings.call, index_);
    if (!settings.few_steps.empty()) {
      constexpr int kOperationsAStep = 2;  // of a ring without empty blocks
      std::vector<int> operations;
      for (const int steps : settings.few_steps) operations.push_back(kOperationsAStep * steps);
      stream_ = first_of_each(std::move(stream_), kOperationsAStep * (settings.call.rank_count - 1),
                              operations);
    }
    stage_ = Stage::kRunning;
    advance();
  }

  // What the next operation of a queue waits for: nothing of it has happened while this is so.
  struct Block {
    static constexpr int kNone = -1;
    static constexpr int kWindow = -2;  // the window's begin is `at`: no more operations are read
    int queue = kNone;                  // else so many things have happened in that queue
    std::int64_t at = 0;
  };
  // Operations that are posted in their order, whatever others wait for.
  struct Queue {
    std::int64_t next_send = 0;
    std::int64_t next_receive = 0;
    std::int64_t received_mark = 0;  // its receives and copies before it are done
    std::int64_t sent_mark = 0;
    std::int64_t happened = 0;  // operations that have left, have arrived or are done
    Block send_block = {};
    Block receive_block = {};
  };
  struct InFlight {
    int sends = 0;
    int receives = 0;
  };
  // A peer's, in a queue of those that operations are dealt into.
  struct Connection {
    int peer = 0;
    int queue = 0;
    InFlight in_flight = {};
  };

  int number_of(std::uint8_t queue) const { return has_queues_ ? queue : 0; }
  Queue& queue_of(std::int64_t index) {
    return queues_[static_cast<size_t>(number_of(slot(index).op.queue))];
  }
  // Where an operation counts.
  InFlight& in_flight(const Op& op) {
    const int queue = number_of(op.queue);
    if (queue == 0) return in_flight_;
    for (Connection& each : connections_)
      if (each.peer == op.peer && each.queue == queue) return each.in_flight;
    return connections_.emplace_back(Connection{.peer = op.peer, .queue = queue}).in_flight;
  }
  int channels() const { return run_.machine_.lanes().stack().channels; }
  bool may_send(const Op& op) {
    return in_flight(op).sends < (number_of(op.queue) == 0 ? channels() : 1);
  }

  // Reads ahead until the next unposted send and the next unposted receive of the queue are known.
  bool read_to(Queue& queue, bool want_send) {
    std::int64_t& next = want_send ? queue.next_send : queue.next_receive;
    next = std::max(next, window_.begin());
    for (;; ++next) {
      while (next >= window_.end()) {
        if (ended_ || window_.length() >= kReadAhead) return false;
        if (!stream_.next()) {
          ended_ = true;
          return false;
        }
        window_.push(stream_.op());
        queue_count_ = std::max(queue_count_, number_of(stream_.op().queue) + 1);
      }
      const PlanSlot& candidate = slot(next);
      if (candidate.stage == OpStage::kWaiting && is_send(candidate.op) == want_send &&
          &queue_of(next) == &queue)
        return true;
    }
  }

  // All receives (or sends) of the queue before place `end` are done.
  bool done_before(Queue& queue, std::int64_t end, bool sends) {
    std::int64_t& mark = sends ? queue.sent_mark : queue.received_mark;
    mark = std::max(mark, window_.begin());
    while (mark < end) {
      const PlanSlot& candidate = slot(mark);
      if (is_send(candidate.op) == sends && candidate.stage != OpStage::kDone &&
          &queue_of(mark) == &queue)
        return false;
      ++mark;
    }
    return true;
  }
  // Those up to so many places before are.
  bool has_waited(std::int64_t index, int distance, bool sends) {
    if (distance == 0) return true;
    if (!has_queues_) distance = cut_short(distance);
    Queue& awaited = queues_[static_cast<size_t>(number_of(slot(index).op.awaits))];
    return done_before(awaited, index - distance + 1, sends);
  }

  bool may_start(std::int64_t index) {
    const Op& op = slot(index).op;
    if (!has_waited(index, op.after, false)) return false;
    const bool writes_at_once = op.kind == OpKind::kRecv || op.kind == OpKind::kCopy;
    return !writes_at_once || has_waited(index, op.write_after, true);
  }

  // Something has happened to an operation.
  void advance_after(const Op& op) {
    ++queues_[static_cast<size_t>(number_of(op.queue))].happened;
    advance();
  }

  void advance() {
    if (advancing_) {
      again_ = true;
      return;
    }
    advancing_ = true;
    do {
      again_ = false;
      for (int number = 0; number < queue_count_; ++number) {
        Queue& queue = queues_[static_cast<size_t>(number)];
        while (post_next_send(queue) || post_next_receive(queue)) {
        }
      }
      start_reductions();
      window_.retire();
    } while (again_);
    advancing_ = false;
    if (stage_ == Stage::kRunning && ended_ && window_.empty()) leave();
  }

  // Of the operations that are not dealt out: all channels are taken, whatever comes next.
  bool is_full(const Queue& queue, int in_flight) const {
    return &queue == &queues_.front() && in_flight >= channels();
  }

  bool lasts(const Block& block) const {
    if (block.queue == Block::kWindow) return window_.begin() == block.at;
    return block.queue != Block::kNone &&
           queues_[static_cast<size_t>(block.queue)].happened == block.at;
  }
  Block by_window() const { return {.queue = Block::kWindow, .at = window_.begin()}; }
  Block by_queue(int number) const {
    return {.queue = number, .at = queues_[static_cast<size_t>(number)].happened};
  }
  // Why the next operation of a queue cannot be posted.
  Block block_of(Queue& queue, bool sends) {
    if (is_full(queue, sends ? in_flight_.sends : in_flight_.receives)) return by_queue(0);
    if (!read_to(queue, sends)) return by_window();
    const std::int64_t next = sends ? queue.next_send : queue.next_receive;
    const Op& op = slot(next).op;
    if (!may_start(next)) return by_queue(number_of(op.awaits));
    const bool is_free = sends ? may_send(op) : in_flight(op).receives < channels();
    return is_free ? Block{} : by_queue(number_of(op.queue));
  }
  bool may_post(Queue& queue, bool sends) {
    Block& block = sends ? queue.send_block : queue.receive_block;
    if (lasts(block)) return false;
    block = block_of(queue, sends);
    return block.queue == Block::kNone;
  }

  bool post_next_send(Queue& queue) {
    if (!may_post(queue, true)) return false;
    const std::int64_t index = queue.next_send++;
    ++in_flight(slot(index).op).sends;
    slot(index).stage = OpStage::kPosted;
    run_.transport_.post_send(post(index, true));
    return true;
  }

  bool post_next_receive(Queue& queue) {
    if (!may_post(queue, false)) return false;
    const std::int64_t index = queue.next_receive++;
    slot(index).stage = OpStage::kPosted;
    if (slot(index).op.kind == OpKind::kCopy) {
      work_.copy_locally(slot(index).op.bytes, [this, index] { receive_done(index); });
      return true;
    }
    ++in_flight(slot(index).op).receives;
    run_.transport_.post_recv(post(index, false));
    return true;
  }

  MessagePost post(std::int64_t index, bool sends) {
    const Op& op = slot(index).op;
    const std::vector<int>& ranks = run_.settings_.ranks;
    const auto [source, destination] =
        run_.as_simulated(sends ? index_ : op.peer, sends ? op.peer : index_);
    return {.channel = run_.settings_.channel,
            .source = ranks[static_cast<size_t>(source)],
            .destination = ranks[static_cast<size_t>(destination)],
            .bytes = op.bytes,
            .kind = {run_.settings_.place, run_.settings_.protocol},
            .listener = this,
            .index = index,
            .queue = number_of(op.queue),
            .connection = kQueuesMax * run_.settings_.part + number_of(op.queue),
            .label = run_.label_,
            .control = run_.settings_.control};
  }

  void receive_done(std::int64_t index) {
    slot(index).stage = OpStage::kDone;
    advance_after(slot(index).op);
  }

  // Reductions of a rank run one after the other: of those whose target may be written to, the one
  // that arrived first.
  void queue_reduction(std::int64_t index) {
    reductions_.push_back(index);
    advance();
  }

  void start_reductions() {
    if (reducing_) return;
    const auto ready = std::find_if(
        reductions_.begin(), reductions_.end(),
        [this](std::int64_t index) { return has_waited(index, slot(index).op.write_after, true); });
    if (ready == reductions_.end()) return;
    const std::int64_t index = *ready;
    reductions_.erase(ready);
    reducing_ = true;
    work_.reduce(slot(index).op.bytes, [this, index] { reduction_done(index); });
  }

  void reduction_done(std::int64_t index) {
    reducing_ = false;
    progress([this, index] {
      if (!reduction().overlaps_transfer) --in_flight(slot(index).op).receives;
      receive_done(index);
    });
  }

  void leave() {
    stage_ = Stage::kLeaving;
    if (run_.settings_.through_host && what().has_result(index_, run_.settings_.call.root))
      work_.copy_from_host(run_.settings_.call.bytes, [this] { finish(); });
    else
      finish();
  }

  void finish() {
    stage_ = Stage::kDone;
    // A run may be kept until the last of a training's iteration is done.
    stream_ = {};
    window_ = {};
    --run_.unfinished_;
    on_done_();
  }

  enum class Stage {
    kNotCalled,
    kPreparing,  // the call's overhead, and a copy to the host
    kRunning,    // its plan
    kLeaving,    // a copy back
    kDone
  };
  static constexpr int kReadAhead = 1024;  // operations held while the other direction is awaited

  CollectiveRun& run_;
  int index_;
  bool has_queues_;  // else no operation is dealt into one
  LocalWork work_;
  OpStream stream_;
  PlanWindow window_;
  std::array<Queue, kQueuesMax> queues_;
  int queue_count_ = 1;  // of those read so far
  InFlight in_flight_;   // of those that are not dealt into queues
  std::deque<Connection> connections_;
  std::deque<std::int64_t> reductions_;
  bool reducing_ = false;
  Stage stage_ = Stage::kNotCalled;
  bool ended_ = false;  // the plan has been read
  bool advancing_ = false;
  bool again_ = false;
  std::function<void()> on_done_;
};

CollectiveRun::CollectiveRun(Settings settings, Machine& machine, Transport& transport,
                             ProgressGate& gate, Timeline* timeline)
    : settings_(std::move(settings)),
      machine_(machine),
      transport_(transport),
      gate_(gate),
      timeline_(timeline),
      turn_(machine.alike() == nullptr ? RoleTurn{} : machine.alike()->turn),
      unfinished_(turn_.blocks > 1 ? turn_.block : settings_.call.rank_count) {
  if (timeline != nullptr) label_ = timeline->label(settings_.label);
  for (int i = 0; i < unfinished_; ++i) members_.push_back(std::make_unique<Member>(*this, i));
}

CollectiveRun::~CollectiveRun() = default;

std::pair<int, int> CollectiveRun::as_simulated(int source, int destination) const {
  if (turn_.blocks == 1) return {source, destination};
  const int by = turn_.by(destination);
  return {turn_.back(source, by), turn_.back(destination, by)};
}

void CollectiveRun::join(int member, std::function<void()> on_done) {
  members_[static_cast<size_t>(member)]->join(std::move(on_done));
}

std::string CollectiveRun::describe(int member) const {
  return members_[static_cast<size_t>(member)]->describe();
}

}  // namespace forescale
