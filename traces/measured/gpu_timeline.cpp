#include "traces/measured/gpu_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "traces/formats/kineto/kineto_event.hpp"
#include "traces/measured/communication_kernels.hpp"

namespace forescale {
namespace {

constexpr size_t kLabelBytesMax = 80;

// Operands of a gather are one part of what sizes name.
std::int64_t parts_of(const MeasuredCollective& collective, const MeasuredRank& rank) {
  const bool is_part =
      collective.op == CollectiveOp::kAllGather || collective.op == CollectiveOp::kGather;
  if (!is_part) return 1;
  return collective.ranks.empty() ? std::max(rank.world_size, 1)
                                  : static_cast<std::int64_t>(collective.ranks.size());
}

}  // namespace

bool GpuTimeline::is_nccl(std::string_view kernel) {
  return kernel.substr(0, 4) == "nccl" || kernel.substr(0, 4) == "rccl";
}

int GpuTimeline::label_of(std::string_view name) {
  size_t length = std::min(name.size(), kLabelBytesMax);
  // Not within a character of UTF-8.
  while (length > 0 && length < name.size() && (name[length] & 0xc0) == 0x80) --length;
  const auto [at, is_new] = labels_.try_emplace(std::string(name.substr(0, length)),
                                                static_cast<int>(label_texts_.size()));
  if (is_new) label_texts_.push_back(at->first);
  return at->second;
}

void GpuTimeline::take_task(const Task& task, const std::optional<MeasuredCollective>& said) {
  const auto [stream, is_new] =
      streams_.try_emplace(task.stream, static_cast<int>(streams_.size()));
  MeasuredTask made{.span = task.span,
                    .stream = stream->second,
                    .label = label_of(task.name),
                    .is_copy = task.is_copy};
  if (!task.is_copy) take_communication(task.name, said, made);
  correlations_.push_back(task.correlation);
  tasks_.push_back(made);
}

void GpuTimeline::take_communication(std::string_view kernel,
                                     const std::optional<MeasuredCollective>& said,
                                     MeasuredTask& made) {
  std::optional<MeasuredCollective> collective = said;
  if (const CommunicationKernel* known = communication_kernel(kernel)) {
    ++libraries_[known->library];
    made.is_communication = !known->op;
    if (known->op) collective = {.op = *known->op, .bytes = known->bytes, .kernel = known->name};
  } else if (!is_nccl(kernel)) {
    return;
  } else if (const auto op = collective_of(kernel); !said && op) {
    collective = {.op = *op};
  } else if (!said) {  // a message; all-to-alls are made of them
    messages_.insert(tasks_.size());
    made.is_communication = true;
  }
  if (!collective) return;
  made.collective = static_cast<int>(collectives_.size());
  collectives_.push_back(std::move(*collective));
}

void GpuTimeline::take_call(std::string_view name, const ClockSpan& span,
                            std::optional<std::int64_t> correlation) {
  const auto contains = [&](const char* part) { return name.find(part) != std::string_view::npos; };
  if (contains("Synchronize"))
    calls_.push_back({span, HostCall::Kind::kWaitFor});
  else if (contains("StreamWaitEvent"))
    calls_.push_back({span, HostCall::Kind::kStreamWait});
  else if (correlation)
    launches_.try_emplace(*correlation, span);
}

void GpuTimeline::take_annotation(const ClockSpan& span, std::optional<CollectiveOp> op,
                                  std::int64_t bytes) {
  annotations_.push_back({span, op, bytes});
}

void GpuTimeline::take_message(PostedMessage posted) { posted_.push_back(std::move(posted)); }

void GpuTimeline::take_operator(const ClockSpan& span, const KernelWork& work) {
  const auto known =
      std::find_if(works_.begin(), works_.end(), [&](const auto& one) { return *one == work; });
  operators_.push_back({span, static_cast<int>(known - works_.begin())});
  if (known == works_.end()) works_.push_back(std::make_shared<const KernelWork>(work));
}

void GpuTimeline::name_members(const std::map<std::string, std::vector<int>>& groups) {
  for (PostedMessage& posted : posted_)
    if (const auto known = groups.find(posted.group);
        posted.members.empty() && known != groups.end())
      posted.members = known->second;
  for (MeasuredCollective& collective : collectives_)
    if (const auto known = groups.find(collective.group);
        collective.ranks.empty() && known != groups.end())
      collective.ranks = known->second;
}

template <class Span>
const Span* GpuTimeline::innermost(const std::vector<Span>& around, const ClockSpan& call) {
  auto after = std::upper_bound(
      around.begin(), around.end(), call.begin_ns,
      [](std::int64_t begin_ns, const Span& one) { return begin_ns < one.span.begin_ns; });
  // Those that began later are over, or around it too.
  constexpr int kSiblingsMax = 16;
  for (int i = 0; i < kSiblingsMax && after != around.begin(); ++i)
    if ((--after)->span.end_ns >= call.end_ns) return &*after;
  return nullptr;
}

const GpuTimeline::Annotation* GpuTimeline::annotation_around(const ClockSpan& call) const {
  return innermost(annotations_, call);
}

void GpuTimeline::make_calls(MeasuredRank& rank) {
  // NCCL makes streams wait around its own launches.
  std::erase_if(calls_, [&](const Call& call) {
    return call.kind == HostCall::Kind::kStreamWait && annotation_around(call.span) != nullptr;
  });
  const std::unordered_set<std::int64_t> ran(correlations_.begin(), correlations_.end());
  for (const auto& [correlation, span] : launches_)
    if (ran.contains(correlation)) calls_.push_back({span, HostCall::Kind::kLaunch, correlation});
  for (const ClockSpan& step : rank.steps)
    calls_.push_back({{step.end_ns, step.end_ns}, HostCall::Kind::kStepEnd});
  std::sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) {
    return std::tuple(a.span.begin_ns, a.correlation) < std::tuple(b.span.begin_ns, b.correlation);
  });
  for (const Call& call : calls_) {
    if (call.kind == HostCall::Kind::kLaunch)
      call_of_[call.correlation] = static_cast<int>(rank.calls.size());
    rank.calls.push_back({call.span, call.kind});
  }
}

void GpuTimeline::link(size_t index, int call, MeasuredRank& rank) {
  MeasuredTask& task = rank.tasks[index];
  task.call = call;
  if (const Operator* asked = innermost(operators_, rank.calls[static_cast<size_t>(call)].span))
    task.work = asked->work;
  const bool is_message = messages_.contains(index);
  if (task.collective < 0 && !is_message) return;
  const Annotation* around = annotation_around(rank.calls[static_cast<size_t>(call)].span);
  if (is_message) {
    if (around == nullptr || !around->op) return;
    task.collective = static_cast<int>(rank.collectives.size());
    task.is_communication = false;
    rank.collectives.push_back({.op = *around->op});
    messages_.erase(index);
  }
  MeasuredCollective& collective = rank.collectives[static_cast<size_t>(task.collective)];
  if (around != nullptr && collective.bytes < 0 && around->bytes >= 0)
    if (__builtin_mul_overflow(around->bytes, parts_of(collective, rank), &collective.bytes))
      collective.bytes = std::numeric_limits<std::int64_t>::max();  // is refused with its number
}

// Without what kernels say of themselves: each was posted alone, around its launch or just before.
std::vector<PostedMessage> GpuTimeline::posted_together(const MeasuredRank& rank) const {
  std::vector<char> is_alone(posted_.size(), 0);
  for (const MeasuredTask& task : rank.tasks) {
    if (task.call < 0 || task.collective < 0) continue;
    const MeasuredCollective& said = rank.collectives[static_cast<size_t>(task.collective)];
    if (!said.is_message) continue;
    const std::int64_t launch_ns = rank.calls[static_cast<size_t>(task.call)].span.begin_ns;
    auto after = std::upper_bound(
        posted_.begin(), posted_.end(), launch_ns,
        [](std::int64_t time_ns, const PostedMessage& one) { return time_ns < one.span.begin_ns; });
    constexpr int kBackMax = 64;
    for (int back = 0; back < kBackMax && after != posted_.begin(); ++back) {
      const PostedMessage& one = *--after;
      const bool is_it = one.message.ranks == said.ranks && one.message.root == said.root &&
                         one.message.bytes == said.bytes;
      char& taken = is_alone[static_cast<size_t>(after - posted_.begin())];
      if (!is_it || taken != 0) continue;
      taken = 1;
      break;
    }
  }
  std::vector<PostedMessage> together;
  for (size_t i = 0; i < posted_.size(); ++i)
    if (is_alone[i] == 0) together.push_back(posted_[i]);
  return together;
}

// Those kernels of messages that say nothing themselves.
void GpuTimeline::link_batches(MeasuredRank& rank) {
  if (posted_.empty()) return;
  const auto span_of = [&](const MeasuredTask& task) {
    return rank.calls[static_cast<size_t>(task.call)].span;
  };
  std::vector<size_t> kernels;
  for (size_t i = 0; i < rank.tasks.size(); ++i)
    if (rank.tasks[i].call >= 0 && messages_.contains(i)) kernels.push_back(i);
  const std::vector<PostedMessage> posted = posted_together(rank);
  std::stable_sort(kernels.begin(), kernels.end(),
                   [&](size_t a, size_t b) { return rank.tasks[a].call < rank.tasks[b].call; });
  std::vector<ClockSpan> launches;
  for (const size_t kernel : kernels) launches.push_back(span_of(rank.tasks[kernel]));
  const std::vector<std::vector<size_t>> batches = batches_of(launches, posted);
  const Annotation* of_last = nullptr;  // around the launch of the last batch
  for (size_t i = 0; i < kernels.size(); ++i) {
    MeasuredTask& task = rank.tasks[kernels[i]];
    const Annotation* around = annotation_around(launches[i]);
    if (batches[i].empty() && around != nullptr && around == of_last) {
      // NCCL has cut the batch; its first kernel has all messages.
      task.span.begin_ns = task.span.end_ns;
      messages_.erase(kernels[i]);
      continue;
    }
    std::vector<const PostedMessage*> batch;
    for (const size_t message : batches[i]) batch.push_back(&posted[message]);
    const bool has_sizes = std::all_of(batch.begin(), batch.end(), [](const PostedMessage* one) {
      return one->message.bytes >= 0;
    });
    if (batch.empty() || !has_sizes) continue;
    of_last = around;
    task.collective = static_cast<int>(rank.collectives.size());
    task.is_communication = false;
    messages_.erase(kernels[i]);
    auto exchange = is_alone_ ? as_all_to_all(batch, rank.rank, rank.world_size) : std::nullopt;
    if (exchange) {
      rank.collectives.push_back(std::move(*exchange));
      continue;
    }
    task.messages = static_cast<int>(batch.size());
    for (const PostedMessage* one : batch) rank.collectives.push_back(one->message);
  }
}

void GpuTimeline::fill(MeasuredRank& rank) {
  rank.has_gpu = true;
  rank.labels = std::move(label_texts_);
  rank.tasks = std::move(tasks_);
  rank.collectives = std::move(collectives_);
  rank.works = std::move(works_);
  const auto by_begin = [](const auto& a, const auto& b) {
    return a.span.begin_ns < b.span.begin_ns;
  };
  std::sort(annotations_.begin(), annotations_.end(), by_begin);
  std::sort(operators_.begin(), operators_.end(), by_begin);
  std::stable_sort(posted_.begin(), posted_.end(), by_begin);
  make_calls(rank);
  for (size_t i = 0; i < rank.tasks.size(); ++i)
    if (const auto call = call_of_.find(correlations_[i]); call != call_of_.end())
      link(i, call->second, rank);
  link_batches(rank);
  order_tasks(rank);
  if (!messages_.empty())
    rank.notes.push_back(
        fmt::format("{}: of {} kernels of NCCL the trace does not say what they carry, or to whom: "
                    "they keep their measured time, as communication",
                    rank.file, messages_.size()));
  for (const auto& [library, count] : libraries_)
    rank.notes.push_back(
        fmt::format("{}: {} communication kernels of {}", rank.file, count, library));
}

}  // namespace forescale
