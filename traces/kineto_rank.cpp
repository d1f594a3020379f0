#include "traces/kineto_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "models/error.hpp"
#include "traces/host_timeline.hpp"
#include "traces/kineto_event.hpp"

namespace forescale {
namespace {

namespace dom = simdjson::dom;

bool begins_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}
bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Categories were capitalised once.
bool is_category(const KinetoEvent& event, std::string_view now, std::string_view once) {
  return event.category == now || event.category == once;
}

// Bytes of all tensors in "Input Dims": [[n, m], ...] with "Input type"; -1 where it cannot be
// told.
std::int64_t bytes_of_inputs(const KinetoEvent& event) {
  dom::array dims;
  dom::array types;
  if (event.args["Input Dims"].get(dims) != simdjson::SUCCESS ||
      event.args["Input type"].get(types) != simdjson::SUCCESS || dims.size() != types.size())
    return -1;
  std::int64_t sum = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    dom::array extents;
    std::string_view type;
    if (dims.at(i).get(extents) != simdjson::SUCCESS || types.at(i).get(type) != simdjson::SUCCESS)
      return -1;
    const auto bytes = bytes_of_type(type);
    if (!bytes || extents.size() == 0) return -1;
    std::int64_t size = *bytes;
    for (const dom::element extent : extents) {
      std::int64_t count = 0;
      if (extent.get(count) != simdjson::SUCCESS || __builtin_mul_overflow(size, count, &size) ||
          count < 0)
        return -1;
    }
    if (__builtin_add_overflow(sum, size, &sum)) return -1;
  }
  return sum;
}

class Reader {
 public:
  explicit Reader(const std::string& file) : input_(file), scan_(input_, "traceEvents") {
    rank_.file = file;
  }

  MeasuredRank read() {
    while (scan_.next()) {
      if (scan_.key().empty()) {
        if (const auto event = kineto_event(scan_, parser_)) take(*event);
      } else if (scan_.key() == "distributedInfo") {
        take_distribution();
      }
    }
    if (rank_.tasks.empty() && host_.is_empty())
      throw InputError({.source = rank_.file,
                        .path = "",
                        .value = "",
                        .constraint = "has no complete events (\"ph\": \"X\")"});
    rank_.has_gpu = !rank_.tasks.empty();
    for (MeasuredCollective& collective : rank_.collectives) complete(collective);
    if (rank_.has_gpu)
      link_calls();
    else
      host_.fill(rank_);
    if (messages_ > 0)
      rank_.notes.push_back(
          fmt::format("{}: {} sends and receives of NCCL keep their measured time, as kernels do",
                      rank_.file, messages_));
    std::sort(rank_.steps.begin(), rank_.steps.end(),
              [](const ClockSpan& a, const ClockSpan& b) { return a.begin_ns < b.begin_ns; });
    return std::move(rank_);
  }

 private:
  struct Call {
    ClockSpan span;
    HostCall::Kind kind;
    std::int64_t correlation = -1;  // of a launch
  };
  // An annotation around the launch of a collective: its operands.
  struct Annotation {
    ClockSpan span;
    std::optional<CollectiveOp> op;  // none: a message
    std::int64_t bytes;
  };

  void take(const KinetoEvent& event) {
    if (begins_with(event.name, "ProfilerStep#") && event.category != "gpu_user_annotation" &&
        event.category != "Trace")
      rank_.steps.push_back(event.span);
    if (is_category(event, "kernel", "Kernel")) {
      take_task(event, false);
    } else if (is_category(event, "gpu_memcpy", "Memcpy") ||
               is_category(event, "gpu_memset", "Memset")) {
      take_task(event, true);
    } else if (is_category(event, "cuda_runtime", "Runtime") || event.category == "cuda_driver") {
      take_call(event);
    } else if (event.category.empty() || is_category(event, "cpu_op", "Operator") ||
               event.category == "user_annotation") {
      if (begins_with(event.name, "nccl:"))
        annotations_.push_back({event.span, collective_of(event.name), bytes_of_inputs(event)});
      host_.take(event.name, event.span, event.thread,
                 begins_with(event.name, "gloo:") ? bytes_of_inputs(event) : -1);
    }
  }

  void take_distribution() {
    const dom::element about = parse_value(scan_, parser_);
    std::int64_t number = 0;
    if (about["rank"].get(number) == simdjson::SUCCESS) rank_.rank = static_cast<int>(number);
    if (about["world_size"].get(number) == simdjson::SUCCESS)
      rank_.world_size = static_cast<int>(number);
    constexpr std::int64_t kRanks_max = 1 << 20;
    if (rank_.rank < -1 || rank_.world_size < 0 || rank_.world_size > kRanks_max)
      scan_.fail("distributedInfo", "must have a rank >= 0 and a world_size <= 1048576");
    dom::array groups;
    if (about["pg_config"].get(groups) != simdjson::SUCCESS) return;
    for (const dom::element group : groups) {
      std::string_view name;
      dom::array members;
      if (group["pg_name"].get(name) != simdjson::SUCCESS ||
          group["ranks"].get(members) != simdjson::SUCCESS)
        continue;
      std::vector<int>& ranks = groups_[std::string(name)];
      for (const dom::element member : members)
        if (member.get(number) == simdjson::SUCCESS) ranks.push_back(static_cast<int>(number));
    }
  }

  int label_of(std::string_view name) {
    const auto [at, is_new] =
        labels_.try_emplace(std::string(name.substr(0, 80)), static_cast<int>(rank_.labels.size()));
    if (is_new) rank_.labels.push_back(at->first);
    return at->second;
  }

  void take_task(const KinetoEvent& event, bool is_copy) {
    const std::int64_t stream = event.integer("stream").value_or(0);
    const auto [at, is_new] = streams_.try_emplace(stream, static_cast<int>(streams_.size()));
    MeasuredTask task{.span = event.span,
                      .stream = at->second,
                      .label = label_of(event.name),
                      .is_copy = is_copy};
    if (!is_copy && (begins_with(event.name, "nccl") || begins_with(event.name, "rccl")))
      task.collective = take_collective(event);
    correlations_.push_back(event.integer("correlation").value_or(-1));
    rank_.tasks.push_back(task);
  }

  // -1 for what NCCL runs besides: messages of a pair.
  int take_collective(const KinetoEvent& event) {
    const std::string_view named = event.text("Collective name");
    const auto op = collective_of(named.empty() ? event.name : named);
    if (!op) {  // NCCL's sends and receives, of which all-to-alls are made
      ++messages_;
      messages_at_.insert(rank_.tasks.size());
      return -1;
    }
    MeasuredCollective made{
        .op = *op,
        .group = std::string(event.text("Process Group Name")),
        .ranks = ranks_in(event.text("Process Group Ranks")).value_or(std::vector<int>{})};
    const std::int64_t in = event.integer("In msg nelems").value_or(-1);
    const std::int64_t out = event.integer("Out msg nelems").value_or(-1);
    const auto element_bytes = bytes_of_type(event.text("dtype"));
    // Sizes name the larger of both sides for these.
    const bool by_out = *op == CollectiveOp::kAllGather || *op == CollectiveOp::kGather;
    const std::int64_t elements = by_out ? out : in;
    if (element_bytes && elements >= 0 && elements < (std::int64_t{1} << 50))
      made.bytes = elements * *element_bytes;
    rank_.collectives.push_back(std::move(made));
    return static_cast<int>(rank_.collectives.size()) - 1;
  }

  void take_call(const KinetoEvent& event) {
    const bool is_wait = contains(event.name, "Synchronize");
    const bool is_stream_wait = contains(event.name, "StreamWaitEvent");
    if (is_wait)
      calls_.push_back({event.span, HostCall::Kind::kWaitFor});
    else if (is_stream_wait)
      calls_.push_back({event.span, HostCall::Kind::kStreamWait});
    else if (const auto correlation = event.integer("correlation"))
      launches_.try_emplace(*correlation, event.span);
  }

  void link_calls() {
    std::sort(
        annotations_.begin(), annotations_.end(),
        [](const Annotation& a, const Annotation& b) { return a.span.begin_ns < b.span.begin_ns; });
    // NCCL makes streams wait around its own launches.
    std::erase_if(calls_, [&](const Call& call) {
      return call.kind == HostCall::Kind::kStreamWait && annotation_around(call.span) != nullptr;
    });
    const std::unordered_set<std::int64_t> ran(correlations_.begin(), correlations_.end());
    for (const auto& [correlation, span] : launches_)
      if (ran.contains(correlation)) calls_.push_back({span, HostCall::Kind::kLaunch, correlation});
    for (const ClockSpan& step : rank_.steps)
      calls_.push_back({{step.end_ns, step.end_ns}, HostCall::Kind::kStepEnd});
    std::sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) {
      return std::tuple(a.span.begin_ns, a.correlation) <
             std::tuple(b.span.begin_ns, b.correlation);
    });
    std::unordered_map<std::int64_t, int> call_of;  // by correlation
    for (const Call& call : calls_) {
      if (call.kind == HostCall::Kind::kLaunch)
        call_of[call.correlation] = static_cast<int>(rank_.calls.size());
      rank_.calls.push_back({call.span, call.kind});
    }
    for (size_t i = 0; i < rank_.tasks.size(); ++i)
      if (const auto call = call_of.find(correlations_[i]); call != call_of.end())
        link(i, call->second);
    order_tasks(rank_);
  }

  void link(size_t index, int call) {
    MeasuredTask& task = rank_.tasks[index];
    task.call = call;
    const bool is_message = messages_at_.contains(index);
    if (task.collective < 0 && !is_message) return;
    const Annotation* around = annotation_around(rank_.calls[static_cast<size_t>(call)].span);
    if (is_message) {
      if (around == nullptr || !around->op) return;
      task.collective = static_cast<int>(rank_.collectives.size());
      rank_.collectives.push_back({.op = *around->op});
      --messages_;
    }
    MeasuredCollective& collective = rank_.collectives[static_cast<size_t>(task.collective)];
    if (around != nullptr && collective.bytes < 0 && around->bytes >= 0)
      collective.bytes = around->bytes * parts_of(collective);
  }

  // Operands of a gather are one part of what sizes name.
  std::int64_t parts_of(const MeasuredCollective& collective) const {
    const bool is_part =
        collective.op == CollectiveOp::kAllGather || collective.op == CollectiveOp::kGather;
    if (!is_part) return 1;
    return collective.ranks.empty() ? std::max(rank_.world_size, 1)
                                    : static_cast<std::int64_t>(collective.ranks.size());
  }

  const Annotation* annotation_around(const ClockSpan& call) const {
    auto after = std::upper_bound(annotations_.begin(), annotations_.end(), call.begin_ns,
                                  [](std::int64_t begin_ns, const Annotation& annotation) {
                                    return begin_ns < annotation.span.begin_ns;
                                  });
    if (after == annotations_.begin()) return nullptr;
    --after;
    return after->span.end_ns >= call.end_ns ? &*after : nullptr;
  }

  void complete(MeasuredCollective& collective) const {
    if (!collective.ranks.empty()) return;
    const auto known = groups_.find(collective.group);
    if (known != groups_.end()) collective.ranks = known->second;
  }

  TraceInput input_;
  JsonScan scan_;
  dom::parser parser_;
  MeasuredRank rank_;
  HostTimeline host_;
  std::unordered_map<std::string, int> labels_;
  std::map<std::int64_t, int> streams_;
  std::vector<std::int64_t> correlations_;                // by task
  std::unordered_map<std::int64_t, ClockSpan> launches_;  // by correlation
  std::vector<Call> calls_;
  std::vector<Annotation> annotations_;
  std::map<std::string, std::vector<int>> groups_;
  int messages_ = 0;
  std::unordered_set<size_t> messages_at_;  // tasks
};

}  // namespace

MeasuredRank read_kineto(const std::string& file) { return Reader(file).read(); }

}  // namespace forescale
