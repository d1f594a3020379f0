#include "sim/collective_run.hpp"

#include <fmt/format.h>

#include "models/error.hpp"

namespace forescale {
namespace {

enum class Stage : std::uint8_t { kWaiting, kPosted, kDone };

struct Slot {
  Op op;
  Stage stage = Stage::kWaiting;
};

// The operations that have been read and are not all done, numbered by their place in the stream.
class Window {
 public:
  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return end_; }
  bool empty() const { return begin_ == end_; }
  Slot& at(std::int64_t place) { return slots_[index(place)]; }
  const Slot& at(std::int64_t place) const { return slots_[index(place)]; }
  void push(const Op& op) {
    if (end_ - begin_ == static_cast<std::int64_t>(slots_.size())) grow();
    slots_[index(end_++)] = {.op = op, .stage = Stage::kWaiting};
  }
  void pop() { ++begin_; }

 private:
  size_t index(std::int64_t place) const {
    return static_cast<size_t>(place) & (slots_.size() - 1);
  }
  void grow() {
    std::vector<Slot> larger(2 * slots_.size());
    for (std::int64_t place = begin_; place < end_; ++place)
      larger[static_cast<size_t>(place) & (larger.size() - 1)] = at(place);
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(4);  // a power of two
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
};

bool is_send(const Op& op) { return op.kind == OpKind::kSend; }

}  // namespace

// One rank's plan.
class CollectiveRun::Member final : public MessageListener {
 public:
  Member(CollectiveRun& run, int index) : run_(run), index_(index) {}

  void join(std::function<void()> on_done) {
    on_done_ = std::move(on_done);
    joined_ = true;
    if (run_.settings_.through_host && has_input()) {
      copy_through(/*out=*/true, [this] { begin(); });
    } else {
      begin();
    }
  }

  void on_sent(std::int64_t index) override {
    progress([this, index] {
      --sends_in_flight_;
      slot(index).stage = Stage::kDone;
      advance();
    });
  }

  void on_received(std::int64_t index) override {
    const Op op = slot(index).op;
    const bool holds = op.kind == OpKind::kRecvReduce && !reduction().overlaps_transfer &&
                       reduction().place != ReductionPlace::kFree;
    if (holds) return;  // the receiver is busy until the reduction is done
    progress([this] {
      --receives_in_flight_;
      advance();
    });
  }

  void on_delivered(std::int64_t index) override {
    if (slot(index).op.kind != OpKind::kRecvReduce ||
        reduction().place == ReductionPlace::kFree) {
      progress([this, index] { receive_done(index); });
      return;
    }
    progress([this, index] { queue_reduction(index); });
  }

  std::string describe() const {
    if (!joined_) return "has not called it";
    std::string text;
    for (std::int64_t i = window_.begin(); i < window_.end() && text.empty(); ++i)
      if (slot(i).stage != Stage::kDone) text = describe(i);
    return text.empty() ? "has no operation left" : text;
  }
  bool done() const { return done_; }

 private:
  Slot& slot(std::int64_t index) { return window_.at(index); }
  const Slot& slot(std::int64_t index) const { return window_.at(index); }
  int world_rank() const { return run_.settings_.ranks[static_cast<size_t>(index_)]; }
  BufferPlace place() const { return run_.settings_.place; }
  const ReductionRule& reduction() const { return run_.machine_.lanes().reduction(place()); }
  World& world() const { return run_.machine_.world(); }
  bool is_root() const { return index_ == run_.settings_.call.root; }

  bool has_input() const {
    const CollectiveOp op = run_.settings_.collective->op;
    return (op != CollectiveOp::kBroadcast && op != CollectiveOp::kScatter) || is_root();
  }
  bool has_output() const {
    const CollectiveOp op = run_.settings_.collective->op;
    return (op != CollectiveOp::kReduce && op != CollectiveOp::kGather) || is_root();
  }

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
    stream_ = run_.settings_.collective->plan(run_.settings_.call, index_);
    begun_ = true;
    advance();
  }

  // Reads ahead until the next unposted send and the next unposted receive are known.
  bool read_to(std::int64_t& next, bool want_send) {
    for (;; ++next) {
      while (next >= window_.end()) {
        if (ended_ || window_.end() - window_.begin() >= kReadAhead) return false;
        if (!stream_.next()) {
          ended_ = true;
          return false;
        }
        window_.push(stream_.op());
      }
      const Slot& candidate = slot(next);
      if (candidate.stage == Stage::kWaiting && is_send(candidate.op) == want_send) return true;
    }
  }

  // All receives (or sends) before place `end` are done.
  bool done_before(std::int64_t& mark, std::int64_t end, bool sends) {
    mark = std::max(mark, window_.begin());
    while (mark < end) {
      const Slot& candidate = slot(mark);
      if (is_send(candidate.op) == sends && candidate.stage != Stage::kDone) return false;
      ++mark;
    }
    return true;
  }

  bool may_start(std::int64_t index) {
    const Op& op = slot(index).op;
    if (op.after > 0 && !done_before(received_mark_, index - op.after + 1, false)) return false;
    const bool writes_at_once = op.kind == OpKind::kRecv || op.kind == OpKind::kCopy;
    return !writes_at_once || op.write_after == 0 ||
           done_before(sent_mark_, index - op.write_after + 1, true);
  }

  void advance() {
    if (advancing_) {
      again_ = true;
      return;
    }
    advancing_ = true;
    do {
      again_ = false;
      while (post_next_send() || post_next_receive()) {
      }
      start_reductions();
      retire();
    } while (again_);
    advancing_ = false;
    if (begun_ && !done_ && ended_ && window_.empty()) finish();
  }

  bool post_next_send() {
    if (sends_in_flight_ >= run_.machine_.lanes().stack().channels) return false;
    next_send_ = std::max(next_send_, window_.begin());
    if (!read_to(next_send_, true) || !may_start(next_send_)) return false;
    const std::int64_t index = next_send_++;
    ++sends_in_flight_;
    slot(index).stage = Stage::kPosted;
    run_.transport_.post_send(post(index, true));
    return true;
  }

  bool post_next_receive() {
    if (receives_in_flight_ >= run_.machine_.lanes().stack().channels) return false;
    next_receive_ = std::max(next_receive_, window_.begin());
    if (!read_to(next_receive_, false) || !may_start(next_receive_)) return false;
    const std::int64_t index = next_receive_++;
    slot(index).stage = Stage::kPosted;
    if (slot(index).op.kind == OpKind::kCopy) {
      copy_locally(index);
      return true;
    }
    ++receives_in_flight_;
    run_.transport_.post_recv(post(index, false));
    return true;
  }

  MessagePost post(std::int64_t index, bool sends) {
    const Op& op = slot(index).op;
    const int peer = run_.settings_.ranks[static_cast<size_t>(op.peer)];
    return {.channel = run_.settings_.channel,
            .source = sends ? world_rank() : peer,
            .destination = sends ? peer : world_rank(),
            .bytes = op.bytes,
            .place = place(),
            .listener = this,
            .index = index,
            .label = run_.label_};
  }

  void receive_done(std::int64_t index) {
    slot(index).stage = Stage::kDone;
    advance();
  }

  void retire() {
    while (!window_.empty() && slot(window_.begin()).stage == Stage::kDone) window_.pop();
  }

  // Reductions of a rank run one after the other, in order of arrival.
  void queue_reduction(std::int64_t index) {
    reductions_.push_back(index);
    advance();
  }

  void start_reductions() {
    if (reducing_ || reductions_.empty()) return;
    const std::int64_t index = reductions_.front();
    const Op op = slot(index).op;
    if (op.write_after > 0 && !done_before(sent_mark_, index - op.write_after + 1, true)) return;
    reductions_.pop_front();
    reducing_ = true;
    reduction_begin_s_ = world().now_s();
    run_reduction(op.bytes, [this, index] { reduction_done(index); });
  }

  void run_reduction(std::int64_t bytes, std::function<void()> done) {
    const Lanes& lanes = run_.machine_.lanes();
    switch (reduction().place) {
      case ReductionPlace::kFree:
        done();
        return;
      case ReductionPlace::kFixed:
        world().after(lanes.reduce_s(bytes, place()), std::move(done));
        return;
      case ReductionPlace::kGpu: {
        const GpuModel& gpu = lanes.platform().gpu_models.front();
        const double work_s = 3.0 * static_cast<double>(bytes) / gpu.memory_bandwidth.value;
        worker_.then = [this, synchronize_s = gpu.synchronize.value, done = std::move(done)] {
          world().after(synchronize_s, done);
        };
        world().after(gpu.kernel_launch.value, [this, work_s] {
          world().start_task(run_.machine_.gpu(world_rank()), work_s, &worker_);
        });
        return;
      }
      case ReductionPlace::kCpu: {
        worker_.then = std::move(done);
        const double flow_bytes = Lanes::reduction_flow_bytes(bytes);
        const int rank = world_rank();
        const Machine::Path& path = run_.machine_.reduction_path(rank);
        path.account(flow_bytes);
        world().in_kernel(
            [this, flow_bytes, &path] { world().start_flow(path.links, flow_bytes, &worker_); });
        return;
      }
    }
  }

  void reduction_done(std::int64_t index) {
    if (run_.timeline_ != nullptr)
      run_.timeline_->add({.rank = world_rank(),
                           .track = Track::kReduction,
                           .label = run_.label_,
                           .begin_s = reduction_begin_s_,
                           .end_s = world().now_s(),
                           .bytes = slot(index).op.bytes});
    reducing_ = false;
    progress([this, index] {
      if (!reduction().overlaps_transfer) --receives_in_flight_;
      receive_done(index);
    });
  }

  void copy_locally(std::int64_t index) {
    // A device-to-device copy reads and writes every byte once.
    const Lanes& lanes = run_.machine_.lanes();
    if (reduction().place != ReductionPlace::kGpu) {
      slot(index).stage = Stage::kDone;
      again_ = true;
      return;
    }
    const double work_s = 2.0 * static_cast<double>(slot(index).op.bytes) /
                          lanes.platform().gpu_models.front().memory_bandwidth.value;
    copier_.then = [this, index] { receive_done(index); };
    world().start_task(run_.machine_.gpu(world_rank()), work_s, &copier_);
  }

  void finish() {
    if (run_.settings_.through_host && has_output() && !copied_back_) {
      copied_back_ = true;
      copy_through(/*out=*/false, [this] { finish(); });
      return;
    }
    done_ = true;
    --run_.unfinished_;
    // May destroy the run: nothing may follow.
    const auto on_done = std::move(on_done_);
    on_done();
  }

  // Whole-buffer copies between the GPU and the host, at the stack's rate or the hardware's.
  void copy_through(bool out, std::function<void()> done) {
    Machine& machine = run_.machine_;
    const int rank = world_rank();
    const auto bytes = static_cast<double>(run_.settings_.call.bytes);
    const double begin_s = world().now_s();
    const double at_least_s = run_.settings_.through_host_bandwidth > 0
                                  ? bytes / run_.settings_.through_host_bandwidth
                                  : 0;
    copier_.then = [this, begin_s, at_least_s, done = std::move(done)] {
      const double left_s = begin_s + at_least_s - world().now_s();
      if (run_.timeline_ != nullptr)
        run_.timeline_->add({.rank = world_rank(),
                             .track = Track::kCopy,
                             .label = run_.label_,
                             .begin_s = begin_s,
                             .end_s = std::max(world().now_s(), begin_s + at_least_s),
                             .bytes = run_.settings_.call.bytes});
      world().after(std::max(0.0, left_s), done);
    };
    const Machine::Path& path = out ? machine.copy_out_path(rank) : machine.copy_in_path(rank);
    path.account(bytes);
    world().in_kernel([this, &path, bytes] { world().start_flow(path.links, bytes, &copier_); });
  }

  struct Continuation : Completion {
    void complete() override {
      const auto next = std::move(then);
      next();
    }
    std::function<void()> then;
  };

  static constexpr int kReadAhead = 1024;  // operations held while the other direction is awaited

  CollectiveRun& run_;
  int index_;
  OpStream stream_;
  Window window_;
  std::int64_t next_send_ = 0;
  std::int64_t next_receive_ = 0;
  std::int64_t received_mark_ = 0;
  std::int64_t sent_mark_ = 0;
  int sends_in_flight_ = 0;
  int receives_in_flight_ = 0;
  std::deque<std::int64_t> reductions_;
  Continuation worker_;
  Continuation copier_;
  double reduction_begin_s_ = 0;
  bool reducing_ = false;
  bool joined_ = false;
  bool begun_ = false;
  bool ended_ = false;
  bool done_ = false;
  bool copied_back_ = false;
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
      unfinished_(settings_.call.rank_count) {
  if (timeline != nullptr) label_ = timeline->label(settings_.label);
  for (int i = 0; i < settings_.call.rank_count; ++i)
    members_.push_back(std::make_unique<Member>(*this, i));
}

CollectiveRun::~CollectiveRun() = default;

void CollectiveRun::join(int member, std::function<void()> on_done) {
  members_[static_cast<size_t>(member)]->join(std::move(on_done));
}

std::string CollectiveRun::describe(int member) const {
  return members_[static_cast<size_t>(member)]->describe();
}

}  // namespace forescale
