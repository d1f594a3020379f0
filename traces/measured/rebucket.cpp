#include "traces/measured/rebucket.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/units.hpp"
#include "traces/measured/dependencies.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kFirstBucketBytes = 1 << 20;

[[noreturn]] void refuse_bucket(const MeasuredRank& rank, const std::string& constraint) {
  throw InputError(
      {.source = "--bucket", .path = rank.file, .value = "", .constraint = constraint});
}

// The last of each bucket.
std::vector<size_t> bucket_ends(const std::vector<MeasuredGradient>& gradients, std::int64_t cap) {
  std::vector<size_t> ends;
  std::int64_t size = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    size += gradients[i].bytes;
    if (size < (ends.empty() ? std::min(kFirstBucketBytes, cap) : cap)) continue;
    ends.push_back(i);
    size = 0;
  }
  if (size > 0) ends.push_back(gradients.size() - 1);
  return ends;
}

class Rebucket {
 public:
  Rebucket(MeasuredRank& rank, std::int64_t cap) : rank_(rank), cap_(cap) {}

  void run() {
    if (rank_.gradients.empty())
      refuse_bucket(rank_, "needs a trace that holds when gradients were ready");
    constexpr std::int64_t kGradientBytesMax = std::int64_t{1} << 40;
    for (const MeasuredGradient& gradient : rank_.gradients)
      if (gradient.bytes > kGradientBytesMax)
        refuse_bucket(rank_, fmt::format("needs gradients of 1 TiB at most: one has {} bytes",
                                         gradient.bytes));
      else if (gradient.bytes < 0)
        refuse_bucket(rank_,
                      "needs the sizes of gradients: give the execution trace behind the timeline");
    const Dependencies before = dependencies_of(rank_);
    for (size_t i = 0; i < rank_.calls.size(); ++i)
      rank_.calls[i].resumes_ns = before.resumes_ns[i];
    std::vector<ClockSpan> steps = rank_.steps;
    if (steps.empty()) steps.push_back({INT64_MIN, INT64_MAX});
    for (const ClockSpan& step : steps) replace(step);
    drop();
  }

 private:
  bool is_of_gradients(const MeasuredTask& task, const ClockSpan& step) const {
    if (task.collective < 0) return false;
    const std::int64_t launched_ns = rank_.calls[static_cast<size_t>(task.call)].span.begin_ns;
    return rank_.collectives[static_cast<size_t>(task.collective)].op == CollectiveOp::kAllReduce &&
           launched_ns >= step.begin_ns && launched_ns < step.end_ns;
  }

  void replace(const ClockSpan& step) {
    std::vector<MeasuredGradient> gradients;
    std::int64_t ready_bytes = 0;
    for (const MeasuredGradient& gradient : rank_.gradients)
      if (gradient.ready_ns >= step.begin_ns && gradient.ready_ns < step.end_ns) {
        gradients.push_back(gradient);
        ready_bytes += gradient.bytes;
      }
    if (gradients.empty()) return;
    std::vector<size_t> old;
    std::int64_t carried_bytes = 0;
    for (size_t i = 0; i < tasks_before_; ++i)
      if (is_of_gradients(rank_.tasks[i], step)) {
        old.push_back(i);
        carried_bytes += rank_.collectives[static_cast<size_t>(rank_.tasks[i].collective)].bytes;
      }
    if (old.empty() || carried_bytes != ready_bytes)
      refuse_bucket(
          rank_,
          fmt::format("needs steps whose all-reduces carry the gradients and nothing else: here {} "
                      "bytes, of gradients {}",
                      carried_bytes, ready_bytes));
    const std::vector<std::int64_t> sizes = bucket_sizes(gradients, cap_);
    const std::vector<size_t> ends = bucket_ends(gradients, cap_);
    for (size_t bucket = 0; bucket < ends.size(); ++bucket)
      add(rank_.tasks[old[bucket % old.size()]], gradients[ends[bucket]].ready_ns, sizes[bucket]);
    for (const size_t task : old) is_dropped_[task] = 1;
  }

  // Like one of the old ones, but for its size and the time of its launch.
  void add(const MeasuredTask& like, std::int64_t ready_ns, std::int64_t bytes) {
    std::int64_t begin_ns = ready_ns;  // not before the kernels that were queued by then
    for (size_t i = 0; i < tasks_before_; ++i) {
      const MeasuredTask& task = rank_.tasks[i];
      if (task.collective < 0 &&
          rank_.calls[static_cast<size_t>(task.call)].span.begin_ns < ready_ns)
        begin_ns = std::max(begin_ns, task.span.end_ns);
    }
    MeasuredTask task = like;
    task.span = {begin_ns, begin_ns};
    task.call = static_cast<int>(rank_.calls.size());
    MeasuredCollective collective = rank_.collectives[static_cast<size_t>(like.collective)];
    collective.bytes = bytes;
    task.collective = static_cast<int>(rank_.collectives.size());
    rank_.collectives.push_back(std::move(collective));
    rank_.calls.push_back({.span = {ready_ns, ready_ns}, .kind = HostCall::Kind::kLaunch});
    rank_.tasks.push_back(task);
    is_dropped_.push_back(0);
  }

  // Takes the old ones out and puts calls in the order of time.
  void drop() {
    std::vector<MeasuredTask> kept;
    for (size_t i = 0; i < rank_.tasks.size(); ++i)
      if (is_dropped_[i] == 0) kept.push_back(rank_.tasks[i]);
    rank_.tasks = std::move(kept);
    std::vector<int> order(rank_.calls.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    const auto call_at = [&](int call) -> const HostCall& {
      return rank_.calls[static_cast<size_t>(call)];
    };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return call_at(a).span.begin_ns < call_at(b).span.begin_ns;
    });
    std::vector<HostCall> calls;
    std::vector<int> place(order.size());
    for (const int call : order) {
      place[static_cast<size_t>(call)] = static_cast<int>(calls.size());
      calls.push_back(call_at(call));
    }
    rank_.calls = std::move(calls);
    for (MeasuredTask& task : rank_.tasks) task.call = place[static_cast<size_t>(task.call)];
    order_tasks(rank_);
  }

  MeasuredRank& rank_;
  const std::int64_t cap_;
  const size_t tasks_before_ = rank_.tasks.size();
  std::vector<char> is_dropped_ = std::vector<char>(tasks_before_, 0);
};

}  // namespace

std::vector<std::int64_t> bucket_sizes(const std::vector<MeasuredGradient>& gradients,
                                       std::int64_t cap) {
  std::vector<std::int64_t> sizes;
  size_t next = 0;
  for (const size_t end : bucket_ends(gradients, cap)) {
    sizes.push_back(0);
    for (; next <= end; ++next) sizes.back() += gradients[next].bytes;
  }
  return sizes;
}

void rebucket(MeasuredRank& rank, std::int64_t cap) { Rebucket(rank, cap).run(); }

}  // namespace forescale
