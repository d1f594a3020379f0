#include "traces/formats/kineto/kineto_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "algorithms/operation.hpp"
#include "base/error.hpp"
#include "traces/formats/kineto/kineto_event.hpp"
#include "traces/formats/kineto/kineto_work.hpp"
#include "traces/measured/communication_kernels.hpp"
#include "traces/measured/gpu_timeline.hpp"
#include "traces/measured/host_timeline.hpp"
#include "traces/program/action.hpp"

namespace forescale {
namespace {

namespace dom = simdjson::dom;

// Categories were capitalised once.
bool is_category(const KinetoEvent& event, std::string_view now, std::string_view once) {
  return event.category == now || event.category == once;
}

// Bytes of all tensors, or the first `most`, in "Input Dims": [[n, m], ...] with "Input type"; -1
// where it cannot be told.
std::int64_t bytes_of_inputs(const KinetoEvent& event,
                             size_t most = std::numeric_limits<size_t>::max()) {
  dom::array dims;
  dom::array types;
  if (event.args["Input Dims"].get(dims) != simdjson::SUCCESS ||
      event.args["Input type"].get(types) != simdjson::SUCCESS || dims.size() != types.size())
    return -1;
  std::int64_t sum = 0;
  for (size_t i = 0; i < std::min(dims.size(), most); ++i) {
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

class KinetoReader {
 public:
  KinetoReader(const std::string& file, bool is_alone)
      : input_(file), scan_(input_, "traceEvents"), gpu_(is_alone) {
    rank_.file = file;
  }

  MeasuredRank read() {
    while (scan_.next()) {
      if (scan_.key().empty()) {
        if (const auto event = kineto_event(scan_, parser_)) take(*event);
      } else if (scan_.key() == "distributedInfo") {
        take_distribution();
      } else if (scan_.key() == "deviceProperties") {
        take_gpu();
      }
    }
    if (gpu_.is_empty() && host_.is_empty())
      throw InputError({.source = rank_.file,
                        .path = "",
                        .value = "",
                        .constraint = "has no complete events (\"ph\": \"X\")"});
    std::sort(rank_.steps.begin(), rank_.steps.end(),
              [](const ClockSpan& a, const ClockSpan& b) { return a.begin_ns < b.begin_ns; });
    gpu_.name_members(groups_);
    if (gpu_.is_empty())
      host_.fill(rank_);
    else
      gpu_.fill(rank_);
    host_.fill_gradients(rank_);
    return std::move(rank_);
  }

 private:
  void take(const KinetoEvent& event) {
    if (event.name.starts_with("ProfilerStep#") && event.category != "gpu_user_annotation" &&
        event.category != "Trace")
      rank_.steps.push_back(event.span);
    if (is_category(event, "kernel", "Kernel")) {
      take_task(event, false);
    } else if (is_category(event, "gpu_memcpy", "Memcpy") ||
               is_category(event, "gpu_memset", "Memset")) {
      take_task(event, true);
    } else if (is_category(event, "cuda_runtime", "Runtime") || event.category == "cuda_driver") {
      gpu_.take_call(event.name, event.span, event.integer("correlation"));
    } else if (event.category.empty() || is_category(event, "cpu_op", "Operator") ||
               event.category == "user_annotation") {
      if (event.name.starts_with("nccl:"))
        gpu_.take_annotation(event.span, collective_of(event.name), bytes_of_inputs(event));
      else if (event.category == "cpu_op" && names_communication(event.name))
        gpu_.take_annotation(event.span, collective_of(event.name), bytes_of_inputs(event, 1));
      if (event.name == "record_param_comms") take_posted(event);
      if (const KernelWork work = work_of(event); !work.empty())
        gpu_.take_operator(event.span, work);
      host_.take(event.name, event.span, event.thread,
                 event.name.starts_with("gloo:") ? bytes_of_inputs(event) : -1);
    }
  }

  // All GPUs of the node are there; they are taken to be alike.
  void take_gpu() {
    dom::array gpus;
    std::string_view name;
    if (parse_value(scan_, parser_).get(gpus) != simdjson::SUCCESS) return;
    for (const dom::element gpu : gpus)
      if (gpu["name"].get(name) == simdjson::SUCCESS && rank_.gpu.empty()) rank_.gpu = name;
  }

  void take_distribution() {
    const dom::element about = parse_value(scan_, parser_);
    std::int64_t number = 0;
    if (about["rank"].get(number) == simdjson::SUCCESS) rank_.rank = static_cast<int>(number);
    if (about["world_size"].get(number) == simdjson::SUCCESS)
      rank_.world_size = static_cast<int>(number);
    if (rank_.rank < -1 || rank_.world_size < 0 || rank_.world_size > kProgramRanksMax)
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
      if (std::string_view title; group["pg_desc"].get(title) == simdjson::SUCCESS)
        rank_.group_titles[std::string(name)] = title;
      for (const dom::element member : members) {
        if (member.get(number) != simdjson::SUCCESS || number < 0 || number >= kProgramRanksMax)
          scan_.fail("pg_config", "must have ranks from 0 to 1048575");
        ranks.push_back(static_cast<int>(number));
      }
    }
  }

  void take_task(const KinetoEvent& event, bool is_copy) {
    const GpuTimeline::Task task{.name = event.name,
                                 .span = event.span,
                                 .stream = event.integer("stream").value_or(0),
                                 .correlation = event.integer("correlation").value_or(-1),
                                 .is_copy = is_copy};
    const auto said = GpuTimeline::is_nccl(event.name) ? said_of(event) : std::nullopt;
    if (const std::string_view title = event.text("Process Group Description");
        said && !title.empty())
      rank_.group_titles[said->group] = title;
    gpu_.take_task(task, said);
  }

  // The host's side of a send or receive, of which a kernel may carry several.
  void take_posted(const KinetoEvent& event) {
    const auto said = said_of(event);
    if (said && said->is_message)
      gpu_.take_message({.span = event.span,
                         .message = *said,
                         .group = group_name(event),
                         .members = group_ranks(event)});
  }

  // What a kernel's arguments say of its collective.
  std::optional<MeasuredCollective> said_of(const KinetoEvent& event) const {
    const std::string_view named = event.text("Collective name");
    const bool is_message = named == "send" || named == "recv";
    auto op = is_message ? CollectiveOp::kBroadcast : collective_of(named);
    if (!op) op = collective_of(event.name);
    if (!op) return std::nullopt;
    MeasuredCollective said{.op = *op,
                            .group = group_name(event),
                            .ranks = group_ranks(event),
                            .is_message = is_message};
    const auto count = [&](const char* key) {
      const std::int64_t elements = event.integer(key).value_or(-1);
      return elements < (std::int64_t{1} << 50) ? elements : -1;
    };
    const std::int64_t in = count("In msg nelems");
    const std::int64_t out = count("Out msg nelems");
    const auto element_bytes = bytes_of_type(event.text("dtype"));
    // Sizes name the larger of both sides for these.
    const bool by_out = operation(*op).before.part == Part::kOwnBlock;
    const std::int64_t elements = is_message ? std::max(in, out) : by_out ? out : in;
    if (element_bytes && elements >= 0) said.bytes = elements * *element_bytes;
    said.group_size = group_size(event, *op, in, out);
    if (is_message && !take_message(event, named == "send", said)) return std::nullopt;
    return said;
  }

  static std::string group_name(const KinetoEvent& event) {
    const std::string_view name = event.text("Process Group Name");
    if (!name.empty()) return std::string(name);
    const auto id = event.integer("Process Group ID");
    return id ? std::to_string(*id) : "";
  }

  // Lists are cut short where they are long; then they may be said as a stride.
  static std::vector<int> group_ranks(const KinetoEvent& event) {
    if (auto ranks = ranks_in(event.text("Process Group Ranks"))) return *ranks;
    const std::int64_t start = event.integer("Global rank start").value_or(-1);
    const std::int64_t stride = event.integer("Global rank stride").value_or(-1);
    const std::int64_t size = event.integer("Group size").value_or(0);
    std::vector<int> ranks;
    if (start < 0 || start >= kProgramRanksMax || stride < 1 || stride >= kProgramRanksMax ||
        size < 1 || size > kProgramRanksMax || start + stride * (size - 1) >= kProgramRanksMax)
      return ranks;
    for (std::int64_t i = 0; i < size; ++i) ranks.push_back(static_cast<int>(start + i * stride));
    return ranks;
  }

  // Ranks of a group: of a gather and its opposite one side is so many times the other.
  static int group_size(const KinetoEvent& event, CollectiveOp op, std::int64_t in,
                        std::int64_t out) {
    const bool gathers = op == CollectiveOp::kAllGather;
    const std::int64_t larger = gathers ? out : in;
    const std::int64_t smaller = gathers ? in : out;
    std::int64_t size = event.integer("Group size").value_or(0);
    if ((gathers || op == CollectiveOp::kReduceScatter) && smaller > 0 && larger % smaller == 0)
      size = larger / smaller;
    return size > 0 && size <= kProgramRanksMax ? static_cast<int>(size) : 0;
  }

  // Between this rank and the one that the arguments name; false where they do not.
  bool take_message(const KinetoEvent& event, bool sends, MeasuredCollective& said) const {
    const std::int64_t peer = event.integer(sends ? "Dst Rank" : "Src Rank").value_or(-1);
    if (peer < 0 || peer >= kProgramRanksMax || rank_.rank < 0 || peer == rank_.rank) return false;
    const int other = static_cast<int>(peer);
    said.ranks = {std::min(rank_.rank, other), std::max(rank_.rank, other)};
    const int from = sends ? rank_.rank : other;
    said.root = from == said.ranks.front() ? 0 : 1;
    said.group = fmt::format("{} from rank {}", said.group, from);
    said.group_size = 0;
    return true;
  }

  TraceInput input_;
  JsonScan scan_;
  dom::parser parser_;
  MeasuredRank rank_;
  HostTimeline host_;
  GpuTimeline gpu_;
  std::map<std::string, std::vector<int>> groups_;  // by name
};

}  // namespace

MeasuredRank read_kineto(const std::string& file, bool is_alone) {
  return KinetoReader(file, is_alone).read();
}

}  // namespace forescale
