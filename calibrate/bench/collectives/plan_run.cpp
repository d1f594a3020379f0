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
  // Operations of the plan that are one message, [begin, end).
  struct Message {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  struct Flight {
    Message message;
    bool sends = false;
    Scratch scratch;  // empty: the message is in the buffer itself
  };
  struct Arrival {
    Message message;
    Scratch scratch;
  };

  OpStream plan;
  std::byte* buffer = nullptr;
  PlanRunOptions options;
  PlanWindow window;
  std::int64_t read_ahead = std::int64_t{32} * kLookback;  // operations, and some messages
  bool ended = false;                                      // the whole plan has been read
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

  bool read_one() {
    if (ended || !plan.next()) {
      ended = true;
      return false;
    }
    window.push(plan.op());
    return true;
  }

  // With what joins it.
  Message message_at(std::int64_t begin) {
    Message message{.begin = begin, .end = begin + 1};
    while (slot(message.end - 1).op.joins_next) {
      if (message.end >= window.end()) FORESCALE_CHECK(read_one(), "a plan ends inside a message");
      ++message.end;
    }
    read_ahead = std::max(read_ahead, 4 * (message.end - message.begin));
    return message;
  }
  std::int64_t bytes_of(const Message& message) {
    std::int64_t bytes = 0;
    for (std::int64_t place = message.begin; place < message.end; ++place)
      bytes += slot(place).op.bytes;
    return bytes;
  }
  void set_stage(const Message& message, OpStage stage) {
    for (std::int64_t place = message.begin; place < message.end; ++place)
      slot(place).stage = stage;
  }
  bool may_start(const Message& message) {
    for (std::int64_t place = message.begin; place < message.end; ++place)
      if (!may_start(place)) return false;
    return true;
  }
  bool may_write(const Message& message) {
    for (std::int64_t place = message.begin; place < message.end; ++place)
      if (!may_write(place)) return false;
    return true;
  }
  // visit(its bytes in the buffer, in the message, how many) of each of its ranges.
  template <class Visit>
  void for_each_range(const Message& message, std::byte* packed, const Visit& visit) {
    for (std::int64_t place = message.begin; place < message.end; ++place) {
      const Op& op = slot(place).op;
      visit(buffer + op.offset, packed, op.bytes);
      packed += op.bytes;
    }
  }

  // Reads ahead until the next unposted send or receive is known. A plan may name many operations
  // of one direction before the next of the other.
  bool read_to(std::int64_t& next, bool wants_send) {
    for (next = std::max(next, window.begin());; ++next) {
      while (next >= window.end())
        if (window.length() >= read_ahead || !read_one()) return false;
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
    if (!read_to(next_send, true)) return false;
    const Message message = message_at(next_send);
    if (!may_start(message)) return false;
    next_send = message.end;
    set_stage(message, OpStage::kPosted);
    Flight flight{.message = message, .sends = true, .scratch = {}};
    const std::int64_t bytes = bytes_of(message);
    std::byte* data = buffer + slot(message.begin).op.offset;
    if (is_packed(message)) {
      flight.scratch = scratch_store().take(static_cast<std::size_t>(bytes + value_bytes()));
      data = flight.scratch.data();
      for_each_range(message, data,
                     [](const std::byte* own, std::byte* packed, std::int64_t count) {
                       if (count > 0) std::memcpy(packed, own, static_cast<std::size_t>(count));
                     });
      if (options.carries_value) std::memcpy(data + bytes, &options.value, sizeof options.value);
    }
    const MessageLayout layout(bytes + value_bytes());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(data, layout.count(), layout.type(), rank_of(slot(message.begin).op.peer),
              options.tag, options.communicator, &request);
    ++sends_in_flight;
    take_off(std::move(flight), request);
    return true;
  }

  // Whether its bytes lie in a place of their own while they are on their way.
  bool is_packed(const Message& message) const {
    return options.carries_value || message.end - message.begin > 1;
  }

  bool post_next_receive() {
    if (receives_in_flight >= options.channels) return false;
    if (!read_to(next_receive, false)) return false;
    const Message message = message_at(next_receive);
    if (!may_start(message)) return false;
    next_receive = message.end;
    const Op op = slot(message.begin).op;
    std::byte* data = buffer + op.offset;
    if (op.kind == OpKind::kCopy) {
      if (op.bytes > 0)
        std::memmove(data, buffer + op.copy_from, static_cast<std::size_t>(op.bytes));
      slot(message.begin).stage = OpStage::kDone;
      return true;
    }
    set_stage(message, OpStage::kPosted);
    Flight flight{.message = message, .sends = false, .scratch = {}};
    const std::int64_t bytes = bytes_of(message);
    if (is_packed(message) || op.kind == OpKind::kRecvReduce) {
      flight.scratch = scratch_store().take(static_cast<std::size_t>(bytes + value_bytes()));
      data = flight.scratch.data();
    }
    const MessageLayout layout(bytes + value_bytes());
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
    const Message message = flight.message;
    if (flight.sends) {
      --sends_in_flight;
      set_stage(message, OpStage::kDone);
      scratch_store().give_back(std::move(flight.scratch));
      return;
    }
    --receives_in_flight;
    if (slot(message.begin).op.kind == OpKind::kRecvReduce) {
      to_reduce.push_back({.message = message, .scratch = std::move(flight.scratch)});
      return;
    }
    if (is_packed(message)) {
      for_each_range(message, flight.scratch.data(),
                     [](std::byte* own, const std::byte* packed, std::int64_t count) {
                       if (count > 0) std::memcpy(own, packed, static_cast<std::size_t>(count));
                     });
      take_value(message, std::move(flight.scratch));
    }
    set_stage(message, OpStage::kDone);
  }

  void take_value(const Message& message, Scratch scratch) {
    if (options.carries_value) {
      std::int64_t theirs = 0;
      std::memcpy(&theirs, scratch.data() + bytes_of(message), sizeof theirs);
      options.value = std::min(options.value, theirs);
    }
    scratch_store().give_back(std::move(scratch));
  }

  // The first that arrived and may change its bytes.
  bool reduce_one() {
    for (auto arrival = to_reduce.begin(); arrival != to_reduce.end(); ++arrival) {
      const Message message = arrival->message;
      if (!may_write(message)) continue;
      for_each_range(message, arrival->scratch.data(),
                     [](std::byte* own, const std::byte* packed, std::int64_t count) {
                       add_floats(own, packed, count);
                     });
      set_stage(message, OpStage::kDone);
      take_value(message, std::move(arrival->scratch));
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
