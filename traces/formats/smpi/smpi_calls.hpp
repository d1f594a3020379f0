// The calls of a SimGrid/SMPI time-independent trace, as its lines say them. Names and arguments:
// SimGrid 3.32, src/smpi/internals/smpi_replay.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace forescale {

enum class SmpiAction : std::uint8_t {
  kInit,      // the first of every rank
  kFinalize,  // the last
  kNothing,   // comm_size, location: costs nothing in a replay
  kCommunicator,
  kCompute,
  kSleep,
  kSend,
  kIsend,
  kReceive,
  kIreceive,
  kSendReceive,
  kTest,
  kWait,
  kWaitAll,
  kBarrier,
  kBroadcast,
  kReduce,
  kAllReduce,
  kReduceScatter,
  kScan,
  kExscan,
  kAllToAll,
  kAllToAllV,
  kGather,
  kGatherV,
  kScatter,
  kScatterV,
  kAllGather,
  kAllGatherV
};
inline bool is_collective(SmpiAction action) { return action >= SmpiAction::kBarrier; }

struct SmpiActionName {
  std::string_view name;  // as a trace writes it
  SmpiAction action;
  std::uint32_t least_arguments;  // where that does not depend on the number of ranks
};
// Null: SMPI knows no such action.
const SmpiActionName* find_smpi_action(std::string_view name);
std::string_view name_of(SmpiAction action);

struct SmpiCall {
  SmpiAction action = SmpiAction::kNothing;
  std::uint32_t line = 0;
  std::uint32_t count = 0;  // of arguments
  std::size_t first = 0;    // of them, in SmpiRank::arguments
};

struct SmpiRank {
  std::size_t file = 0;        // that has its lines, all of them
  int default_type_bytes = 0;  // of counts without a datatype; 0: the rank has no lines
  bool is_finalized = false;
  std::vector<SmpiCall> calls;  // without init, finalize and those that cost nothing
  std::vector<double> arguments;

  double argument(const SmpiCall& call, std::size_t number) const {
    return arguments[call.first + number];
  }
};

struct SmpiTrace {
  std::vector<std::string> files;
  std::vector<SmpiRank> ranks;

  const std::string& file_of(std::size_t rank) const { return files[ranks[rank].file]; }
  // InputError at that call.
  [[noreturn]] void fail(std::size_t rank, const SmpiCall& call,
                         const std::string& constraint) const;
};

// Traces, of one rank or of several each, or lists of them: a file's name a line, relative to the
// list. InputError for a line that SMPI would not take, a rank in two files, a rank that is
// missing.
SmpiTrace read_smpi_trace(const std::vector<std::string>& files);

// Whether a file that begins so is a trace or a list of traces.
bool is_smpi_trace(const std::string& file, std::string_view head);

}  // namespace forescale
