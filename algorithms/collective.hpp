// What a collective is: a plan for each rank, a closed form, options and a source; and the table
// of all of them. A collective is one file in algorithms/collectives/ that registers itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/plan.hpp"
#include "base/option.hpp"
#include "base/units.hpp"

namespace forescale {

// Buffers. `bytes` is the size that people name; offsets of plans point into a rank's buffer:
//   reduce         every rank has the whole vector [0, bytes); the root ends with the sum
//   broadcast      the root's vector [0, bytes) ends up on every rank
//   all-reduce     every rank has [0, bytes) and ends with the sum
//   reduce-scatter every rank has [0, bytes); rank r ends with the sum of block r, in place
//   allgather      rank r has block r of [0, bytes); every rank ends with all of [0, bytes)
//   gather         rank r has block r of [0, bytes); the root ends with all of them
//   scatter        the root has [0, bytes); rank r ends with block r
//   all-to-all     every rank has [0, bytes), block j meant for rank j; rank r ends with block r of
//                  every rank j in slot j behind that, at bytes + j * (size of block r)
//   shift          every rank has [0, bytes); it ends with those of the rank before it behind that,
//                  at bytes; the rank before the first is the last
// Block r is block_range(bytes, rank_count, r, element_bytes). Ranges outside the result of a rank
// may hold anything at the end.
enum class CollectiveOp {
  kReduce,
  kBroadcast,
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kGather,
  kScatter,
  kAllToAll,
  kShift
};

const char* name_of(CollectiveOp op);
CollectiveOp parse_collective_op(const std::string& text, const std::string& source);
const std::vector<CollectiveOp>& all_collective_ops();
bool has_root(CollectiveOp op);

// Bytes that arrive at each of so many ranks: of an all-reduce every block twice, as its sum is
// made and as that is handed out, of others once. Whatever the plan, and whoever is root.
double brought_bytes(CollectiveOp op, std::int64_t bytes, std::size_t ranks);

struct CollectiveCall {
  int rank_count = 1;
  std::int64_t bytes = 0;
  int root = 0;
  std::int64_t element_bytes = 4;  // FP32
  OptionValues options = {};       // of those that the collective declares
};

// How far a rank's buffer reaches: `bytes`, and room behind them for what others send (all-to-all,
// shift).
std::int64_t buffer_bytes(CollectiveOp op, const CollectiveCall& call, int rank);

// What one step costs where nothing contends: alpha + beta b to move b bytes, then
// reduce_alpha + gamma b to add them. Reductions either hold the receiver (T = transfer + reduce)
// or overlap with its next transfer.
struct StepCost {
  double alpha_s = 0;
  double beta_s_per_byte = 0;
  double reduce_alpha_s = 0;
  double gamma_s_per_byte = 0;
  bool reduction_overlaps = false;

  double transfer_s(std::int64_t bytes) const {
    return alpha_s + beta_s_per_byte * static_cast<double>(bytes);
  }
  double reduce_s(std::int64_t bytes) const {
    return reduce_alpha_s + gamma_s_per_byte * static_cast<double>(bytes);
  }
  // Time to move and add, one after the other.
  double step_s(std::int64_t bytes) const { return transfer_s(bytes) + reduce_s(bytes); }
};

struct Collective {
  CollectiveOp op = CollectiveOp::kReduce;
  std::string algorithm;             // what a user types: "chain"
  std::string summary;               // one line
  std::string source;                // paper and equation
  std::vector<Option> options = {};  // that it reads: chunk_bytes, chain_size, its own

  // Operations of `rank`. Called for 0 <= rank < call.rank_count.
  OpStream (*plan)(CollectiveCall call, int rank) = nullptr;

  // Time in seconds on a contention-free, homogeneous network with one send and one receive at a
  // time, all ranks starting together; nothing where no formula is known for this call.
  std::optional<double> (*closed_form)(const CollectiveCall& call, const StepCost& cost) = nullptr;

  // Why this call cannot be served ("needs a power of two"), empty if it can. May be null: always.
  std::string (*refuse)(const CollectiveCall& call) = nullptr;

  // Some of its operations say joins_next.
  bool joins = false;

  // Its groups of neighbouring ranks are the GPUs of nodes: where the nodes of a call have fewer
  // than the option chain_size says, they are as large as the nodes (option group_sizes).
  bool groups_are_nodes = false;

  // For the Registry: "reduce/chain".
  std::string name = {};
};

// Adds to the table; fills in the name.
bool register_collective(Collective collective);

// The plan of `rank` by messages: operations that join are one.
OpStream message_plan(const Collective& collective, const CollectiveCall& call, int rank);

// InputError naming `source` and the nearest known algorithm of that operation.
const Collective& find_collective(CollectiveOp op, const std::string& algorithm,
                                  const std::string& source);
std::vector<const Collective*> all_collectives();
// How the command line spells an option out: "chunk_bytes" is "--chunk-bytes".
std::string option_flag(const std::string& name);
// Null where it does not declare that.
const Option* find_option(const Collective& collective, const std::string& name);

// Refuses a rank count < 1, bytes < 0, a root outside, options that the collective does not
// declare or that are out of their range, and whatever the collective itself refuses; InputError
// naming the command-line option.
void check_call(const Collective& collective, const CollectiveCall& call);

}  // namespace forescale
