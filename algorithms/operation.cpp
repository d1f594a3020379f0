#include "algorithms/operation.hpp"

#include <deque>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr Holding kAll = {Part::kWhole, false};
constexpr Holding kAllBlocks = {Part::kOwnBlock, false};
constexpr Holding kRoot = {Part::kWhole, true};

// In the order of CollectiveOp.
std::vector<Operation> own_operations() {
  return {
      {.name = "reduce",
       .before = kAll,
       .after = kRoot,
       .sums = true,
       .names = {{Tool::kOsu, "Reduce Latency"},
                 {Tool::kImb, "Reduce"},
                 {Tool::kNcclTests, "reduce"},
                 {Tool::kNcclKernel, "reduce"},
                 {Tool::kNcclTuner, "reduce"},
                 {Tool::kMpich, "reduce"},
                 {Tool::kOpenMpiRules, "11"},
                 {Tool::kChakra, "1"}}},
      {.name = "broadcast",
       .before = kRoot,
       .after = kAll,
       .names = {{Tool::kOsu, "Broadcast Latency"},
                 {Tool::kOsu, "Bcast Latency"},
                 {Tool::kImb, "Bcast"},
                 {Tool::kNcclTests, "broadcast"},
                 {Tool::kNcclKernel, "broadcast"},
                 {Tool::kNcclTuner, "broadcast"},
                 {Tool::kMpich, "bcast"},
                 {Tool::kOpenMpiRules, "7"},
                 {Tool::kChakra, "5"},
                 {Tool::kHorovod, "BROADCAST"}}},
      {.name = "all-reduce",
       .before = kAll,
       .after = kAll,
       .sums = true,
       .names = {{Tool::kOsu, "Allreduce Latency"},
                 {Tool::kImb, "Allreduce"},
                 {Tool::kNcclTests, "all_reduce"},
                 {Tool::kNcclKernel, "allreduce"},
                 {Tool::kNcclTuner, "allreduce"},
                 {Tool::kMpich, "allreduce"},
                 {Tool::kOpenMpiRules, "2"},
                 {Tool::kChakra, "0"},
                 {Tool::kHorovod, "ALLREDUCE"},
                 {Tool::kHorovod, "ADASUM"}}},
      {.name = "reduce-scatter",
       .before = kAll,
       .after = kAllBlocks,
       .sums = true,
       .names = {{Tool::kOsu, "Reduce_scatter Latency"},
                 {Tool::kOsu, "Reduce_scatter_block Latency"},
                 {Tool::kImb, "Reduce_scatter"},
                 {Tool::kNcclTests, "reduce_scatter"},
                 {Tool::kNcclKernel, "reducescatter"},
                 {Tool::kNcclTuner, "reducescatter"},
                 {Tool::kMpich, "reduce_scatter_block"},
                 {Tool::kOpenMpiRules, "13"},
                 {Tool::kChakra, "7"},
                 {Tool::kChakra, "8"},
                 {Tool::kHorovod, "REDUCESCATTER"}}},
      {.name = "allgather",
       .before = kAllBlocks,
       .after = kAll,
       .names = {{Tool::kOsu, "Allgather Latency"},
                 {Tool::kImb, "Allgather"},
                 {Tool::kNcclTests, "all_gather"},
                 {Tool::kNcclKernel, "allgather"},
                 {Tool::kNcclTuner, "allgather"},
                 {Tool::kMpich, "allgather"},
                 {Tool::kOpenMpiRules, "0"},
                 {Tool::kChakra, "2"},
                 {Tool::kHorovod, "ALLGATHER"}}},
      {.name = "gather",
       .before = kAllBlocks,
       .after = kRoot,
       .names = {{Tool::kOsu, "Gather Latency"},
                 {Tool::kImb, "Gather"},
                 {Tool::kNcclTests, "gather"},
                 {Tool::kNcclKernel, "gather"},
                 {Tool::kChakra, "3"}}},
      {.name = "scatter",
       .before = kRoot,
       .after = kAllBlocks,
       .names = {{Tool::kOsu, "Scatter Latency"},
                 {Tool::kImb, "Scatter"},
                 {Tool::kNcclTests, "scatter"},
                 {Tool::kNcclKernel, "scatter"},
                 {Tool::kChakra, "4"}}},
      // Block j of every rank is meant for rank j.
      {.name = "all-to-all",
       .before = kAll,
       .after = {Part::kSlots, false},
       .names = {{Tool::kOsu, "All-to-All Personalized Exchange Latency"},
                 {Tool::kOsu, "Alltoall Latency"},
                 {Tool::kImb, "Alltoall"},
                 {Tool::kNcclTests, "alltoall"},
                 {Tool::kNcclKernel, "alltoall"},
                 {Tool::kOpenMpiRules, "3"},
                 {Tool::kChakra, "6"},
                 {Tool::kHorovod, "ALLTOALL"}}},
      // Logs of IMB's Sendrecv and of nccl-tests' sendrecv are read as a pattern of the same name.
      {.name = "shift", .before = kAll, .after = {Part::kPrevious, false}}};
}

struct Table {
  std::deque<Operation> operations;  // by CollectiveOp
  std::vector<CollectiveOp> ops;
  CollectiveOp add(Operation operation) {
    for (const Operation& known : operations)
      FORESCALE_CHECK(known.name != operation.name, "two operations are called " + known.name);
    operations.push_back(std::move(operation));
    ops.push_back(static_cast<CollectiveOp>(ops.size()));
    return ops.back();
  }
};

// Filled when it is first asked for: by other tables, before main.
Table& table() {
  static Table table = [] {
    Table own;
    for (const Operation& operation : own_operations()) own.add(operation);
    return own;
  }();
  return table;
}

}  // namespace

const Operation& operation(CollectiveOp op) {
  return table().operations.at(static_cast<size_t>(op));
}

CollectiveOp add_operation(Operation operation) { return table().add(std::move(operation)); }

const std::vector<CollectiveOp>& all_collective_ops() { return table().ops; }

const char* name_of(CollectiveOp op) { return operation(op).name.c_str(); }

CollectiveOp parse_collective_op(const std::string& text, const std::string& source) {
  std::vector<std::string> names;
  for (const CollectiveOp op : all_collective_ops()) {
    if (text == name_of(op)) return op;
    names.emplace_back(name_of(op));
  }
  throw InputError(
      {.source = source, .path = "", .value = text, .constraint = unknown_name(text, names)});
}

bool has_root(CollectiveOp op) { return operation(op).has_root(); }

double brought_bytes(CollectiveOp op, std::int64_t bytes, std::size_t ranks) {
  const auto count = static_cast<double>(ranks);
  return static_cast<double>(bytes) * (count - 1) / count *
         (op == CollectiveOp::kAllReduce ? 2 : 1);
}

std::int64_t buffer_bytes(CollectiveOp op, const CollectiveCall& call, int rank) {
  const Part after = operation(op).after.part;
  if (after == Part::kPrevious) return 2 * call.bytes;
  if (after != Part::kSlots) return call.bytes;
  return call.bytes +
         call.rank_count * block_range(call.bytes, call.rank_count, rank, call.element_bytes).bytes;
}

std::optional<std::string_view> name_in(Tool tool, CollectiveOp op) {
  for (const ToolName& known : operation(op).names)
    if (known.tool == tool) return known.name;
  return std::nullopt;
}

std::optional<CollectiveOp> op_called(Tool tool, std::string_view name) {
  for (const CollectiveOp op : all_collective_ops())
    for (const ToolName& known : operation(op).names)
      if (known.tool == tool && known.name == name) return op;
  return std::nullopt;
}

}  // namespace forescale
