// What each collective operation is: who holds which part of the buffer before and after, and what
// other libraries and tools call it. One table; plan contract, bounds, buffers, copies through the
// host and the data of real runs follow from it.
//
// Buffers. `bytes` is the size that people name; offsets of plans point into a rank's buffer, and
// block r is block_range(bytes, rank_count, r, element_bytes). Ranges outside of what a rank must
// hold at the end may hold anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.hpp"

namespace forescale {

// A part of a rank's buffer.
enum class Part {
  kWhole,     // [0, bytes)
  kOwnBlock,  // block r on rank r, in its place
  kSlots,     // block r of every rank j on rank r, in slot j behind the rest, at
              // bytes + j * (size of block r)
  kPrevious   // the whole of the rank before, the last before the first, behind the rest, at bytes
};

struct Holding {
  Part part = Part::kWhole;
  bool root_only = false;  // else every rank
};

// Whose names.
enum class Tool {
  kOsu,           // osu_*: the title's words between the library's and "Test"
  kImb,           // IMB-MPI1: the benchmark's
  kNcclTests,     // nccl-tests: the program's, without "_perf"
  kNcclKernel,    // of NCCL's kernels and PyTorch's records of them, in lower case, without "_"
  kNcclTuner,     // of NCCL's tuner files
  kMpich,         // collective=... of its selection files
  kOpenMpiRules,  // number in its rule files
  kChakra,        // number of its CollectiveCommType
  kHorovod        // of its timelines
};
struct ToolName {
  Tool tool = Tool::kOsu;
  std::string name;
};

struct Operation {
  std::string name;  // what people type: "all-reduce"
  Holding before;    // of a rank's own values
  Holding after;
  bool sums = false;  // over all ranks; else values are passed on as they were
  std::vector<ToolName> names = {};

  // The vector is cut into one block a rank.
  bool has_blocks() const {
    return before.part == Part::kOwnBlock || after.part == Part::kOwnBlock ||
           after.part == Part::kSlots;
  }
  // Blocks are passed on: people often name the size of one.
  bool passes_blocks() const { return !sums && has_blocks(); }
  // Of parameters rather than of gradients, where a trace does not say.
  bool propagates() const {
    return !sums && !after.root_only &&
           (after.part == Part::kWhole || after.part == Part::kOwnBlock);
  }
  bool has_root() const { return before.root_only || after.root_only; }
  // Does rank `rank` have input, result?
  bool has_input(int rank, int root) const { return !before.root_only || rank == root; }
  bool has_result(int rank, int root) const { return !after.root_only || rank == root; }
};

const Operation& operation(CollectiveOp op);
// Adds one to the table, from a file of its own; operations of the project itself stand in
// operation.cpp.
CollectiveOp add_operation(Operation operation);

// The first name that the tool has for it, if it has one; the operation that the tool calls so.
std::optional<std::string_view> name_in(Tool tool, CollectiveOp op);
std::optional<CollectiveOp> op_called(Tool tool, std::string_view name);

}  // namespace forescale
