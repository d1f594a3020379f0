#include "calibrate/bench/collectives/plan_run.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <mutex>
#include <utility>

#include "algorithms/pieces/plan_window.hpp"
#include "base/error.hpp"

namespace forescale {
namespace {

using Scratch = std::vector<std::byte>;

// Buffers are kept for the next message: fresh memory would cost a page fault every 4 KiB.
class ScratchStore {
 public:
  Scratch take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return Scratch(bytes);
    Scratch buffer = std::move(free_.back());
    free_.pop_back();
    if (buffer.size() < bytes) buffer.resize(bytes);
    return buffer;
  }
  void give_back(Scratch buffer) {
    constexpr std::size_t kKept = 16;
    const std::lock_guard lock(mutex_);
    if (free_.size() < kKept && !buffer.empty()) free_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<Scratch> free_;
};

ScratchStore& scratch_store() {
  static ScratchStore store;
  return store;
}

// `bytes` bytes as one MPI message; above what an int counts, by a type of its own.
class MessageLayout {
 public:
  explicit MessageLayout(std::int64_t bytes) {
    if (bytes <= INT_MAX) {
      count_ = static_cast<int>(bytes);
      return;
    }
    constexpr std::int64_t kBlock = 1 << 30;
    MPI_Datatype block = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(kBlock, MPI_BYTE, &block);
    const std::int64_t blocks = bytes / kBlock;
    int lengths[] = {static_cast<int>(blocks), static_cast<int>(bytes % kBlock)};
    MPI_Aint places[] = {0, static_cast<MPI_Aint>(blocks * kBlock)};
    MPI_Datatype types[] = {block, MPI_BYTE};
    MPI_Type_create_struct(2, lengths, places, types, &own_type_);
    MPI_Type_commit(&own_type_);
    MPI_Type_free(&block);
    count_ = 1;
  }
  // A message in progress keeps its type.
  ~MessageLayout() {
    if (own_type_ != MPI_DATATYPE_NULL) MPI_Type_free(&own_type_);
  }
  MessageLayout(const MessageLayout&) = delete;
  MessageLayout& operator=(const MessageLayout&) = delete;

  int count() const { return count_; }
  MPI_Datatype type() const { return own_type_ == MPI_DATATYPE_NULL ? MPI_BYTE : own_type_; }

 private:
  int count_ = 0;
  MPI_Datatype own_type_ = MPI_DATATYPE_NULL;
};

void add_floats(std::byte* to, const std::byte* from, std::int64_t bytes) {
  auto* sum = reinterpret_cast<float*>(to);
  const auto* term = reinterpret_cast<const float*>(from);
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(float));
  for (std::int64_t i = 0; i < count; ++i) sum[i] += term[i];
}

bool is_send(const Op& op) { return op.kind == OpKind::kSend; }

}  // namespace

struct PlanRun::State {
  struct Flight {
    std::int64_t place = 0;  // in the plan
    bool sends = false;
    Scratch scratch;  // empty: the message is in the buffer itself
  };
  struct Arrival {
    std::int64_t place = 0;
    Scratch scratch;
  };

  OpStream plan;
  std::byte* buffer = nullptr;
  PlanRunOptions options;
  PlanWindow window;
  bool ended = false;  // the whole plan has been read
  std::int64_t next_send = 0;
  std::int64_t next_receive = 0;
  std::int64_t received_mark = 0;  // all receives before it are done
  std::int64_t sent_mark = 0;
  int sends_in_flight = 0;
  int receives_in_flight = 0;
  std::vector<Flight> flights;  // with requests[i]
  std::vector<MPI_Request> requests;
  std::vector<int> completed;      // for MPI_Testsome
  std::vector<Arrival> to_reduce;  // by time of arrival

  bool done() const { return ended && window.empty(); }
  PlanSlot& slot(std::int64_t place) { return window.at(place); }
  std::int64_t value_bytes() const {
    return options.carries_value ? static_cast<std::int64_t>(sizeof options.value) : 0;
  }
  int rank_of(int peer) const {
    return options.ranks.empty() ? peer : options.ranks[static_cast<std::size_t>(peer)];
  }

  // Reads ahead until the next unposted send or receive is known. A plan may name many operations
  // of one direction before the next of the other.
  bool read_to(std::int64_t& next, bool wants_send) {
    constexpr std::int64_t kReadAhead = std::int64_t{32} * kLookback;
    for (next = std::max(next, window.begin());; ++next) {
      while (next >= window.end()) {
        if (ended || window.length() >= kReadAhead) return false;
        if (!plan.next()) {
          ended = true;
          return false;
        }
        window.push(plan.op());
      }
      if (slot(next).stage == OpStage::kWaiting && is_send(slot(next).op) == wants_send)
        return true;
    }
  }

  // All sends, or all else, before place `end` are done.
  bool done_before(std::int64_t& mark, std::int64_t end, bool sends) {
    for (mark = std::max(mark, window.begin()); mark < end; ++mark)
      if (is_send(slot(mark).op) == sends && slot(mark).stage != OpStage::kDone) return false;
    return true;
  }
  bool may_write(std::int64_t place) {
    const int distance = slot(place).op.write_after;
    return distance == 0 || done_before(sent_mark, place - distance + 1, true);
  }
  bool may_start(std::int64_t place) {
    const Op& op = slot(place).op;
    if (op.after > 0 && !done_before(received_mark, place - op.after + 1, false)) return false;
    const bool writes_at_once = op.kind == OpKind::kRecv || op.kind == OpKind::kCopy;
    return !writes_at_once || may_write(place);
  }

  bool post_next_send() {
    if (sends_in_flight >= options.channels) return false;
    if (!read_to(next_send, true) || !may_start(next_send)) return false;
    const Op op = slot(next_send).op;
    Flight flight{.place = next_send++, .sends = true, .scratch = {}};
    slot(flight.place).stage = OpStage::kPosted;
    std::byte* data = buffer + op.offset;
    if (options.carries_value) {
      flight.scratch = scratch_store().take(static_cast<std::size_t>(op.bytes + value_bytes()));
      if (op.bytes > 0)
        std::memcpy(flight.scratch.data(), data, static_cast<std::size_t>(op.bytes));
      data = flight.scratch.data();
      std::memcpy(data + op.bytes, &options.value, sizeof options.value);
    }
    const MessageLayout layout(op.bytes + value_bytes());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(data, layout.count(), layout.type(), rank_of(op.peer), options.tag,
              options.communicator, &request);
    ++sends_in_flight;
    take_off(std::move(flight), request);
    return true;
  }

  bool post_next_receive() {
    if (receives_in_flight >= options.channels) return false;
    if (!read_to(next_receive, false) || !may_start(next_receive)) return false;
    const Op op = slot(next_receive).op;
    Flight flight{.place = next_receive++, .sends = false, .scratch = {}};
    std::byte* data = buffer + op.offset;
    if (op.kind == OpKind::kCopy) {
      if (op.bytes > 0)
        std::memmove(data, buffer + op.copy_from, static_cast<std::size_t>(op.bytes));
      slot(flight.place).stage = OpStage::kDone;
      return true;
    }
    slot(flight.place).stage = OpStage::kPosted;
    if (options.carries_value || op.kind == OpKind::kRecvReduce) {
      flight.scratch = scratch_store().take(static_cast<std::size_t>(op.bytes + value_bytes()));
      data = flight.scratch.data();
    }
    const MessageLayout layout(op.bytes + value_bytes());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(data, layout.count(), layout.type(), rank_of(op.peer), options.tag,
              options.communicator, &request);
    ++receives_in_flight;
    take_off(std::move(flight), request);
    return true;
  }

  void take_off(Flight flight, MPI_Request request) {
    flights.push_back(std::move(flight));
    requests.push_back(request);
    completed.resize(requests.size());
  }

  bool land() {
    if (requests.empty()) return false;
    int count = 0;
    MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count, completed.data(),
                 MPI_STATUSES_IGNORE);
    if (count <= 0) return false;
    std::sort(completed.begin(), completed.begin() + count);  // in the order of posting
    for (int i = 0; i < count; ++i)
      landed(flights[static_cast<std::size_t>(completed[static_cast<std::size_t>(i)])]);
    for (int i = count - 1; i >= 0; --i) {
      const std::ptrdiff_t index = completed[static_cast<std::size_t>(i)];
      flights.erase(flights.begin() + index);
      requests.erase(requests.begin() + index);
    }
    return true;
  }

  void landed(Flight& flight) {
    PlanSlot& landed_slot = slot(flight.place);
    if (flight.sends) {
      --sends_in_flight;
      landed_slot.stage = OpStage::kDone;
      scratch_store().give_back(std::move(flight.scratch));
      return;
    }
    --receives_in_flight;
    if (landed_slot.op.kind == OpKind::kRecvReduce) {
      to_reduce.push_back({.place = flight.place, .scratch = std::move(flight.scratch)});
      return;
    }
    if (options.carries_value) {
      const Op& op = landed_slot.op;
      if (op.bytes > 0)
        std::memcpy(buffer + op.offset, flight.scratch.data(), static_cast<std::size_t>(op.bytes));
      take_value(op, std::move(flight.scratch));
    }
    landed_slot.stage = OpStage::kDone;
  }

  void take_value(const Op& op, Scratch scratch) {
    if (options.carries_value) {
      std::int64_t theirs = 0;
      std::memcpy(&theirs, scratch.data() + op.bytes, sizeof theirs);
      options.value = std::min(options.value, theirs);
    }
    scratch_store().give_back(std::move(scratch));
  }

  // The first that arrived and may change its bytes.
  bool reduce_one() {
    for (auto arrival = to_reduce.begin(); arrival != to_reduce.end(); ++arrival) {
      if (!may_write(arrival->place)) continue;
      const Op op = slot(arrival->place).op;
      add_floats(buffer + op.offset, arrival->scratch.data(), op.bytes);
      slot(arrival->place).stage = OpStage::kDone;
      take_value(op, std::move(arrival->scratch));
      to_reduce.erase(arrival);
      return true;
    }
    return false;
  }

  bool post_all() {
    bool has_moved = false;
    while (post_next_send() || post_next_receive()) has_moved = true;
    return has_moved;
  }

  bool progress() {
    bool has_moved = land();
    if (post_all()) has_moved = true;
    if (reduce_one()) {
      post_all();
      has_moved = true;
    }
    window.retire();
    return has_moved;
  }
};

PlanRun::PlanRun(OpStream plan, std::byte* buffer, PlanRunOptions options)
    : state_(std::make_unique<State>()) {
  FORESCALE_CHECK(options.channels >= 1, "a plan needs a channel");
  state_->plan = std::move(plan);
  state_->buffer = buffer;
  state_->options = std::move(options);
}

PlanRun::~PlanRun() {
  FORESCALE_CHECK(state_->requests.empty(), "a plan was given up with messages in progress");
}

bool PlanRun::progress() { return state_->progress(); }

// A plan that was not read yet may be empty.
bool PlanRun::done() const { return state_->done(); }

std::int64_t PlanRun::value() const { return state_->options.value; }

}  // namespace forescale
