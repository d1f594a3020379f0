#include "traces/measured/host_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "traces/formats/kineto/kineto_event.hpp"

namespace forescale {
namespace {

// A thread notes the end of a collective after it has woken whom it waited for; on busy cores some
// slices of the scheduler later.
constexpr std::int64_t kNoted_ns = 1'000'000;
constexpr std::int64_t kNotedLate_ns = 20'000'000;

bool by_begin(const ClockSpan& a, const ClockSpan& b) { return a.begin_ns < b.begin_ns; }

// Annotations that stand around operators and hold what happens between them too.
bool is_scope(std::string_view name) {
  for (const char* scope : {"ProfilerStep#", "DistributedDataParallel.", "Optimizer.", "enumerate(",
                            "nn.Module", "##", "[pytorch|profiler", "PyTorch Profiler"})
    if (name.starts_with(scope)) return true;
  return false;
}

}  // namespace

void HostTimeline::take(std::string_view name, const ClockSpan& span, const std::string& thread,
                        std::int64_t bytes) {
  if (name.starts_with("gloo:")) {
    if (const auto op = collective_of(name))
      collectives_.push_back({.span = span, .op = *op, .bytes = bytes, .thread = thread});
    return;
  }
  if (name.starts_with("Optimizer.step")) optimizer_.push_back(span);
  if (is_scope(name)) return;
  if (name.starts_with("c10d::"))
    if (const auto op = collective_of(name)) launches_.push_back({.span = span, .op = *op});
  if (name == "torch::autograd::AccumulateGrad") gradients_.push_back(span);
  ops_[thread].push_back(span);
}

std::string HostTimeline::main_thread() const {
  return std::max_element(
             ops_.begin(), ops_.end(),
             [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); })
      ->first;
}

// The n-th launch of an operation is what ran n-th of it. Profilers lose what ends when they stop.
void HostTimeline::match(MeasuredRank& rank) {
  const auto by_span = [](const auto& a, const auto& b) { return by_begin(a.span, b.span); };
  std::sort(launches_.begin(), launches_.end(), by_span);
  std::sort(collectives_.begin(), collectives_.end(), by_span);
  std::map<CollectiveOp, std::vector<Collective*>> ran;
  for (Collective& collective : collectives_) ran[collective.op].push_back(&collective);
  std::map<CollectiveOp, size_t> next;
  size_t without = 0;
  for (Launch& launch : launches_) {
    const std::vector<Collective*>& of_op = ran[launch.op];
    size_t& at = next[launch.op];
    while (at < of_op.size() && of_op[at]->span.end_ns < launch.span.begin_ns) ++at;
    if (at < of_op.size())
      launch.ran = of_op[at++];
    else
      ++without;
  }
  if (without > 0)
    rank.notes.push_back(
        fmt::format("{}: {} collectives were launched, but when they ended is not in the trace",
                    rank.file, without));
}

std::vector<ClockSpan> HostTimeline::gaps(const std::string& thread) const {
  std::vector<ClockSpan> ops = ops_.at(thread);
  std::sort(ops.begin(), ops.end(), by_begin);
  std::vector<ClockSpan> gaps;
  std::int64_t busy_until_ns = ops.front().begin_ns;
  for (const ClockSpan& op : ops) {
    if (op.begin_ns > busy_until_ns) gaps.push_back({busy_until_ns, op.begin_ns});
    busy_until_ns = std::max(busy_until_ns, busy_end_ns(op));
  }
  return gaps;
}

// An operator that launches a collective within may wait for it there: from then on only the
// operators within say that the thread works.
std::int64_t HostTimeline::busy_end_ns(const ClockSpan& op) const {
  auto launch = std::lower_bound(
      launches_.begin(), launches_.end(), op.begin_ns,
      [](const Launch& one, std::int64_t begin_ns) { return one.span.begin_ns < begin_ns; });
  const bool is_within = launch != launches_.end() && launch->span.end_ns <= op.end_ns &&
                         launch->span.length_ns() < op.length_ns();
  return is_within ? launch->span.end_ns : op.end_ns;
}

// On the thread that was free first, as soon as it was.
void HostTimeline::end_with(Launch& launch, const ClockSpan& wait) {
  std::map<std::string, std::int64_t> free_ns;  // by thread
  for (const Launch& other : launches_)
    if (other.ran != nullptr && other.span.begin_ns < launch.span.begin_ns) {
      std::int64_t& from_ns = free_ns.try_emplace(other.ran->thread, 0).first->second;
      from_ns = std::max(from_ns, other.ran->span.end_ns);
    }
  const auto first =
      std::min_element(free_ns.begin(), free_ns.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  Collective& ran = unseen_.emplace_back(
      Collective{.span = {launch.span.begin_ns, wait.end_ns}, .op = launch.op, .thread = {}});
  if (first != free_ns.end()) {
    ran.thread = first->first;
    ran.span.begin_ns = std::min(std::max(launch.span.begin_ns, first->second), wait.end_ns);
  }
  launch.ran = &ran;
}

// A call that blocks leaves a gap behind it in which its collective ends. The others are waited for
// by the time of the optimizer's step, or the end of the profiler's: once all of them are launched,
// a gap in which one ends is a wait for it, and so is the last gap before that time. One that is
// not seen ending ended in the longest gap in which no other did.
std::vector<ClockSpan> HostTimeline::waits(const std::vector<ClockSpan>& gaps,
                                           const MeasuredRank& rank) {
  const auto gap_at = [&](std::int64_t time_ns) {  // the last that begins before
    auto after = std::upper_bound(gaps.begin(), gaps.end(), ClockSpan{time_ns, time_ns}, by_begin);
    return after == gaps.begin() ? nullptr : &*std::prev(after);
  };
  const auto idle_ns = [](const ClockSpan* gap, std::int64_t time_ns) {
    return gap == nullptr ? 0 : std::min(gap->end_ns, time_ns) - gap->begin_ns;
  };
  const auto idle_before = [&](std::int64_t time_ns, std::int64_t late_ns) {
    const ClockSpan* longest = nullptr;
    const ClockSpan* gap = gap_at(time_ns);
    for (; gap != nullptr && gap->end_ns + late_ns >= time_ns; --gap) {
      if (idle_ns(gap, time_ns) > idle_ns(longest, time_ns)) longest = gap;
      if (gap == gaps.data()) break;
    }
    return longest;
  };
  // In which the thread had done nothing for longest by then.
  const auto wait_at = [&](std::int64_t time_ns) {
    const ClockSpan* wait = idle_before(time_ns, kNoted_ns);
    return idle_ns(wait, time_ns) >= kNoted_ns ? wait : idle_before(time_ns, kNotedLate_ns);
  };
  std::vector<ClockSpan> limits = optimizer_;
  for (const ClockSpan& step : rank.steps) limits.push_back({step.end_ns, step.end_ns});
  std::sort(limits.begin(), limits.end(), by_begin);
  std::set<const ClockSpan*> waits;
  std::map<std::int64_t, std::vector<Launch*>> pending;  // by the time of their limit
  for (Launch& launch : launches_) {
    const ClockSpan* behind = gap_at(launch.span.end_ns + 1);
    if (launch.ran != nullptr && behind != nullptr && behind->begin_ns <= launch.span.end_ns &&
        launch.ran->span.end_ns <= behind->end_ns) {
      waits.insert(behind);
      continue;
    }
    const auto limit = std::upper_bound(limits.begin(), limits.end(), launch.span, by_begin);
    // Else it is waited for at the end of the program.
    if (limit != limits.end()) pending[limit->begin_ns].push_back(&launch);
  }
  for (const auto& [limit_ns, launches] : pending) {
    for (const Launch* launch : launches) {
      if (launch->ran == nullptr) continue;
      std::int64_t& end_ns = launch->ran->span.end_ns;
      const ClockSpan* around = wait_at(end_ns);
      if (around == nullptr || around->end_ns <= launches.back()->span.end_ns ||
          around->end_ns > limit_ns)
        continue;
      waits.insert(around);
      end_ns = std::min(end_ns, around->end_ns);
    }
    const ClockSpan* last = gap_at(limit_ns);
    if (last == nullptr) continue;
    waits.insert(last);
    for (Launch* launch : launches) {
      if (launch->ran != nullptr) continue;
      const ClockSpan* longest = last;
      for (const ClockSpan* gap = last; gap->begin_ns >= launches.back()->span.end_ns; --gap) {
        if (!waits.contains(gap) && gap->length_ns() > longest->length_ns()) longest = gap;
        if (gap == gaps.data()) break;
      }
      waits.insert(longest);
      if (launch->span.end_ns < longest->end_ns) end_with(*launch, *longest);
    }
  }
  std::vector<ClockSpan> found;
  for (const ClockSpan* wait : waits) found.push_back(*wait);
  return found;
}

void HostTimeline::fill(MeasuredRank& rank) {
  const std::string main = main_thread();
  match(rank);
  struct Call {
    HostCall call;
    const Launch* launch;
  };
  std::vector<Call> calls;
  for (const Launch& launch : launches_)
    calls.push_back({{launch.span, HostCall::Kind::kLaunch}, &launch});
  for (const ClockSpan& wait : waits(gaps(main), rank))
    calls.push_back({{wait, HostCall::Kind::kWaitFor}, nullptr});
  for (const ClockSpan& step : rank.steps)
    calls.push_back({{{step.end_ns, step.end_ns}, HostCall::Kind::kStepEnd}, nullptr});
  std::stable_sort(calls.begin(), calls.end(),
                   [](const Call& a, const Call& b) { return by_begin(a.call.span, b.call.span); });
  std::map<std::string, int> streams;
  std::map<int, std::int64_t> last_end_ns;  // by stream
  for (const Call& call : calls) {
    if (call.launch != nullptr) {
      const Collective* ran = call.launch->ran;
      // What is not seen ending is taken to be on the first stream, as long as its launch.
      const int stream =
          ran == nullptr
              ? 0
              : streams.try_emplace(ran->thread, static_cast<int>(streams.size())).first->second;
      MeasuredTask task{.span = ran != nullptr ? ran->span : call.launch->span,
                        .stream = stream,
                        .call = static_cast<int>(rank.calls.size()),
                        .label = static_cast<int>(rank.labels.size()),
                        .collective = static_cast<int>(rank.collectives.size())};
      std::int64_t& last_ns = last_end_ns.try_emplace(stream, task.span.end_ns).first->second;
      task.span.end_ns = last_ns = std::max(last_ns, task.span.end_ns);
      rank.tasks.push_back(task);
      rank.labels.push_back(fmt::format("{} {}", name_of(call.launch->op), rank.labels.size()));
      rank.collectives.push_back(
          {.op = call.launch->op, .bytes = ran != nullptr ? ran->bytes : -1});
    }
    rank.calls.push_back(call.call);
  }
}

void HostTimeline::fill_gradients(MeasuredRank& rank) {
  std::sort(gradients_.begin(), gradients_.end(), by_begin);
  for (const ClockSpan& gradient : gradients_)
    rank.gradients.push_back({.ready_ns = gradient.end_ns, .bytes = -1});
}

}  // namespace forescale
