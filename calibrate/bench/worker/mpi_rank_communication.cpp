// Collectives and messages of a rank, on real MPI.
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <mutex>

#include "algorithms/call_rules.hpp"
#include "base/error.hpp"
#include "calibrate/bench/polled.hpp"
#include "calibrate/bench/rank_group.hpp"
#include "calibrate/bench/worker/mpi_rank.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kValueBytes = sizeof(std::int64_t);

// FNV-1a over integers.
class Hash {
 public:
  void add(std::int64_t number) {
    for (int i = 0; i < 64; i += 8) {
      state_ ^= (static_cast<std::uint64_t>(number) >> i) & 0xff;
      state_ *= 0x100000001b3ULL;
    }
  }
  std::uint64_t value() const { return state_ ^ (state_ >> 32); }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace

MpiRank::Group& MpiRank::group(const CollectiveStep& step) {
  static const std::vector<int> kWorkers;  // key of the group of all workers
  auto& slot = groups_[{step.group ? *step.group : kWorkers, step.communicator}];
  if (slot) return *slot;
  slot = std::make_unique<Group>();
  if (step.group) {
    slot->ranks = *step.group;
  } else {
    for (int rank = 0; rank < request_.workers; ++rank) slot->ranks.push_back(rank);
  }
  const auto self = std::find(slot->ranks.begin(), slot->ranks.end(), rank_);
  FORESCALE_CHECK(self != slot->ranks.end(),
                  fmt::format("rank {} calls a collective of a group without it", rank_));
  slot->member = static_cast<int>(self - slot->ranks.begin());
  std::vector<int> nodes;
  for (const int rank : slot->ranks) nodes.push_back(request_.nodes[static_cast<size_t>(rank)]);
  slot->shape = shape_of(slot->ranks, nodes);
  return *slot;
}

// Passes the plan on and notes what it sends.
OpStream MpiRank::counted(OpStream plan, bool control) {
  while (plan.next()) {
    if (plan.op().kind == OpKind::kSend) {
      if (!plan.op().joins_next) ++sent_.messages;
      (control ? sent_.control : sent_.payload) += plan.op().bytes;
    }
    co_yield plan.op();
  }
}

// The tag says which operation it is and of what kind: those that differ never meet, and the ranks
// that wait for each other in vain say so (check_stuck()).
Request MpiRank::start(const CollectiveStep& step) {
  Group& group = this->group(step);
  auto request = std::make_shared<CollectiveRequest>();
  request->step = step;
  request->number = group.next++;
  request->members = group.ranks.size();
  const auto ranks = static_cast<int>(group.ranks.size());
  const bool has_own = step.control && request_.control_choices.count(name_of(step.op)) > 0;
  const PlanChoice plan =
      call_rules(has_own ? request_.control_choices : request_.choices, step.op, group.shape,
                 step.bytes, nullptr, {.source = "request", .path = "/choices"})
          .plan;
  const Collective& collective = *plan.collective;
  const CollectiveCall call{
      .rank_count = ranks, .bytes = step.bytes, .root = step.root, .options = plan.options};
  check_call(collective, call);
  Hash tag;
  for (const int rank : group.ranks) tag.add(rank);
  for (const std::int64_t number :
       {static_cast<std::int64_t>(step.communicator), request->number,
        static_cast<std::int64_t>(step.op), step.bytes, static_cast<std::int64_t>(step.root)})
    tag.add(number);
  request->buffer = collective_buffers_.take(buffer_bytes(step.op, call, group.member));
  request->run = std::make_unique<PlanRun>(
      counted(collective.plan(call, group.member), step.control), request->buffer.data(),
      PlanRunOptions{
          .communicator = collective_communicator_,
          .tag = static_cast<int>(tag.value() % (static_cast<std::uint64_t>(tag_max_) + 1)),
          .channels = channels_,
          .ranks = group.ranks,
          // Every rank decides alike: only negotiation is asked for a value.
          .carries_value = step.control,
          .value = step.value});
  advance(*request);  // posts what can be posted; the others wait for a call that waits
  if (!request->is_done) collectives_.push_back(request);
  return request;
}

// True when something moved on.
bool MpiRank::advance(CollectiveRequest& request) {
  const bool has_moved = request.run->progress();
  if (!request.run->done()) return has_moved;
  request.value = request.run->value();
  request.run.reset();
  collective_buffers_.give_back(std::move(request.buffer));
  request.complete();
  return true;
}

bool MpiRank::progress() {
  bool has_moved = progress_messages();
  for (const auto& request : collectives_)
    if (advance(*request)) has_moved = true;
  std::erase_if(collectives_, [](const auto& request) { return request->is_done; });
  return has_moved;
}

// A message's bytes are followed by its value.
void MpiRank::post(const std::shared_ptr<MessageRequest>& request) {
  const MessageStep& step = request->step;
  const std::int64_t bytes = step.bytes + kValueBytes;
  FORESCALE_CHECK(
      step.peer >= 0 && step.peer < static_cast<int>(request_.jobs.size()) && step.peer != rank_,
      fmt::format("rank {} exchanges a message with rank {}", rank_, step.peer));
  FORESCALE_CHECK(step.tag >= 0 && step.tag <= tag_max_ && bytes <= INT_MAX,
                  request->describe() + ": beyond what one MPI message can be");
  request->buffer = message_buffers_.take(bytes);
  MPI_Request handle = MPI_REQUEST_NULL;
  if (request->sends) {
    std::memcpy(request->buffer.data() + step.bytes, &step.value, kValueBytes);
    MPI_Isend(request->buffer.data(), static_cast<int>(bytes), MPI_BYTE, step.peer, step.tag,
              message_communicator_, &handle);
    ++sent_.messages;
    (step.control ? sent_.control : sent_.payload) += step.bytes;
  } else {
    MPI_Irecv(request->buffer.data(), static_cast<int>(bytes), MPI_BYTE, step.peer, step.tag,
              message_communicator_, &handle);
  }
  messages_.push_back(request);
  message_handles_.push_back(handle);
}

Request MpiRank::send(const MessageStep& step) {
  auto request = std::make_shared<MessageRequest>();
  request->step = step;
  request->sends = true;
  post(request);
  return request;
}

Request MpiRank::receive(const MessageStep& step) {
  auto request = std::make_shared<MessageRequest>();
  request->step = step;
  post(request);
  return request;
}

bool MpiRank::progress_messages() {
  if (messages_.empty()) return false;
  landed_.resize(messages_.size());
  statuses_.resize(messages_.size());
  int count = 0;
  const int error = MPI_Testsome(static_cast<int>(message_handles_.size()), message_handles_.data(),
                                 &count, landed_.data(), statuses_.data());
  if (count <= 0) return false;
  std::vector<std::pair<int, size_t>> by_post;  // index, place of its status
  for (int i = 0; i < count; ++i)
    by_post.emplace_back(landed_[static_cast<size_t>(i)], static_cast<size_t>(i));
  std::sort(by_post.begin(), by_post.end());
  for (const auto& [index, place] : by_post) {
    const MPI_Status& status = statuses_[place];
    const int own_error = error == MPI_ERR_IN_STATUS ? status.MPI_ERROR : error;
    message_done(static_cast<size_t>(index), status, own_error);
  }
  for (auto landed = by_post.rbegin(); landed != by_post.rend(); ++landed) {
    messages_.erase(messages_.begin() + landed->first);
    message_handles_.erase(message_handles_.begin() + landed->first);
  }
  return true;
}

void MpiRank::message_done(size_t index, const MPI_Status& status, int error) {
  MessageRequest& request = *messages_[index];
  if (!request.sends) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (error != MPI_SUCCESS || bytes != request.step.bytes + kValueBytes)
      give_up(3, fmt::format("message sizes differ: {}, but {} bytes were sent", request.describe(),
                             error == MPI_SUCCESS ? std::to_string(bytes - kValueBytes) : "more"));
    std::memcpy(&request.value, request.buffer.data() + request.step.bytes, kValueBytes);
  } else if (error != MPI_SUCCESS) {
    give_up(3, request.describe() + ": MPI reports an error");
  }
  message_buffers_.give_back(std::move(request.buffer));
  request.complete();
}

// Until nothing of any rank is under way: what was sent to nobody is taken in and dropped.
void MpiRank::finish_messages() {
  const auto all_are_here = [this](bool drains, const std::function<bool()>& ready) {
    MPI_Request barrier = MPI_REQUEST_NULL;
    bool is_entered = false;
    poll_until([&] {
      if (drains) {
        int is_there = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, message_communicator_, &is_there, &message,
                    &status);
        if (is_there != 0) {
          int bytes = 0;
          MPI_Get_count(&status, MPI_BYTE, &bytes);
          PooledBuffer buffer = message_buffers_.take(bytes);
          MPI_Request receive = MPI_REQUEST_NULL;
          MPI_Imrecv(buffer.data(), bytes, MPI_BYTE, &message, &receive);
          auto request = std::make_shared<MessageRequest>();
          request->step.peer = status.MPI_SOURCE;
          request->step.bytes = bytes - kValueBytes;
          request->buffer = std::move(buffer);
          messages_.push_back(std::move(request));
          message_handles_.push_back(receive);
        }
      } else {
        moved_s_ = now_s();  // others may still train
      }
      if (!is_entered && ready()) {
        MPI_Ibarrier(collective_communicator_, &barrier);
        is_entered = true;
      }
      int is_over = 0;
      if (is_entered) MPI_Test(&barrier, &is_over, MPI_STATUS_IGNORE);
      return is_over != 0;
    });
  };
  all_are_here(false, [] { return true; });
  // Nobody sends any more what these wait for, unless it is on its way already.
  for (size_t i = 0; i < messages_.size(); ++i)
    if (!messages_[i]->sends) MPI_Cancel(&message_handles_[i]);
  for (size_t i = messages_.size(); i-- > 0;) {
    if (messages_[i]->sends) continue;
    patience_.wait([&] {
      int is_over = 0;
      MPI_Test(&message_handles_[i], &is_over, MPI_STATUS_IGNORE);
      return is_over != 0;
    });
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i));
    message_handles_.erase(message_handles_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  all_are_here(true, [this] { return messages_.empty() && collectives_.empty(); });
}

}  // namespace forescale
