// The timeline of a rank that computes on a GPU: what its profiler saw, in any order, made into
// host calls, tasks and collectives.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "traces/measured/measured.hpp"
#include "traces/measured/message_batches.hpp"

namespace forescale {

class GpuTimeline {
 public:
  // `is_alone`: no other rank's trace is given. Then a batch of messages that reaches everybody
  // alike is an all-to-all; with all ranks in view messages say it exactly.
  explicit GpuTimeline(bool is_alone = false) : is_alone_(is_alone) {}

  struct Task {
    std::string_view name;
    ClockSpan span;
    std::int64_t stream = 0;
    std::int64_t correlation = -1;  // with the call that queued it; -1: not in the trace
    bool is_copy = false;
  };
  // `said`: what the trace itself says of a collective; else the kernel's name has to.
  void take_task(const Task& task, const std::optional<MeasuredCollective>& said = std::nullopt);
  // A call of CUDA's runtime or driver, by its name.
  void take_call(std::string_view name, const ClockSpan& span,
                 std::optional<std::int64_t> correlation);
  // An annotation around the launch of a collective (`op`) or a message (none), and the bytes of
  // its operands, -1 where they are not known.
  void take_annotation(const ClockSpan& span, std::optional<CollectiveOp> op, std::int64_t bytes);

  // A send or receive that the host has posted; NCCL may launch it with others.
  void take_message(PostedMessage posted);
  // An operator of the host that asks for products, convolutions or attention: its time, and what.
  void take_operator(const ClockSpan& span, const KernelWork& work);

  // Ranks of groups, by name, for collectives whose own arguments do not list them.
  void name_members(const std::map<std::string, std::vector<int>>& groups);

  static bool is_nccl(std::string_view kernel);
  bool is_empty() const { return tasks_.empty(); }
  // rank.steps and rank.world_size are known already.
  void fill(MeasuredRank& rank);

 private:
  struct Call {
    ClockSpan span;
    HostCall::Kind kind;
    std::int64_t correlation = -1;  // of a launch
  };
  struct Annotation {
    ClockSpan span;
    std::optional<CollectiveOp> op;
    std::int64_t bytes;
  };
  struct Operator {
    ClockSpan span;
    int work;
  };

  int label_of(std::string_view name);
  void take_communication(std::string_view kernel, const std::optional<MeasuredCollective>& said,
                          MeasuredTask& made);
  void make_calls(MeasuredRank& rank);
  void link(size_t index, int call, MeasuredRank& rank);
  std::vector<PostedMessage> posted_together(const MeasuredRank& rank) const;
  void link_batches(MeasuredRank& rank);
  // The innermost of `around` around a call; null: none.
  template <class Span>
  static const Span* innermost(const std::vector<Span>& around, const ClockSpan& call);
  const Annotation* annotation_around(const ClockSpan& call) const;

  bool is_alone_;
  std::vector<std::string> label_texts_;
  std::unordered_map<std::string, int> labels_;
  std::map<std::int64_t, int> streams_;
  std::vector<MeasuredTask> tasks_;
  std::vector<MeasuredCollective> collectives_;
  std::vector<std::int64_t> correlations_;                // by task
  std::unordered_set<size_t> messages_;                   // tasks: NCCL's sends and receives
  std::map<std::string, int> libraries_;                  // communication kernels beside NCCL's
  std::unordered_map<std::int64_t, ClockSpan> launches_;  // by correlation
  std::unordered_map<std::int64_t, int> call_of_;         // by correlation
  std::vector<Call> calls_;
  std::vector<Annotation> annotations_;
  std::vector<Operator> operators_;
  std::vector<PostedMessage> posted_;
  std::vector<std::shared_ptr<const KernelWork>> works_;
};

}  // namespace forescale
