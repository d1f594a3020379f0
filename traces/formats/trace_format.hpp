// Traces that others wrote, imported as programs: what every importer takes and gives.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/measured/measured_run.hpp"
#include "traces/program/program.hpp"

namespace forescale {

// What the user says where files are silent; 0 or empty: not said.
struct ImportOptions {
  int ranks = 0;            // that the program shall have; more than were traced: see the notes
  double flops_per_s = 0;   // of one rank, for formats that count operations
  double cycle_s = 0;       // of one unit, for formats that count cycles
  std::int64_t images = 0;  // of an iteration, by rank
  std::int64_t bucket_bytes = 0;  // DDP's bucket_cap_mb, in place of the traced run's
  // Of communication whose size is not in the trace, by the kernel's name ("dispatch") or the
  // operation's: bytes, or nothing to keep its measured time.
  std::map<std::string, std::optional<std::int64_t>> sizes = {};
  // Ranks of a group, by its name or title, where one rank's trace stands for all: with the kernels
  // as traced (data parallelism), or divided by as much as the group grows (tensor parallelism).
  std::map<std::string, int> groups = {};
  std::map<std::string, int> splits = {};
  bool without_stragglers = false;  // ranks that compute for longer than most do are like most
};

struct Volume {
  std::uint64_t count = 0;
  double bytes = 0;
};

// Collectives of one operation on one group.
struct GroupVolume {
  std::string op;  // as in ImportTotals
  std::string group;
  std::vector<int> ranks;
  Volume volume;  // of the traced ranks' calls
};

// What the files hold, over all ranks of them, before anything is replicated or left out.
struct ImportTotals {
  std::map<std::string, Volume> collectives;  // by name_of(CollectiveOp); bytes of each rank's call
  Volume messages;                            // sent
  std::vector<GroupVolume> groups;            // the same collectives by group; may be empty
  std::uint64_t kernels = 0;                  // compute tasks
  double compute_s = 0;
};

// Of kernels that were measured.
inline Program measured_program() {
  Program program;
  program.has_slowed_kernels = true;
  return program;
}

struct ImportedTrace {
  Program program = measured_program();
  ImportTotals found;
  MeasuredRun measured = {};
  double kernel_split = 1;  // kernels that the splits divide take so many times as long
  // What the files lack and what was taken instead, clock offsets, whose trace stands for whom.
  std::vector<std::string> notes;
};

// Entries of Registry<TraceFormat>.
struct TraceFormat {
  std::string name;                // "smpi"
  std::string description;         // one line
  std::vector<std::string> reads;  // options of the command line that it has a use for: "--ranks"
  // Whether a file that begins with `head` (decompressed, up to 64 KiB) is one.
  bool (*detects)(const std::string& file, const std::string& head) = nullptr;
  // One file a rank, in rank order, unless the format holds all ranks in one. InputError naming the
  // file and the position for what is wrong with it.
  ImportedTrace (*import)(const std::vector<std::string>& files,
                          const ImportOptions& options) = nullptr;
};

// For formats whose ranks are not alike: InputError when --ranks asks for another number.
void require_ranks(const ImportOptions& options, std::size_t ranks);

// The format of a file. InputError when none knows it.
const TraceFormat& trace_format_of(const std::string& file);

// InputError, too, for an option that was given and that the files' format has no use for.
ImportedTrace import_trace(const std::vector<std::string>& files, const ImportOptions& options);

}  // namespace forescale
