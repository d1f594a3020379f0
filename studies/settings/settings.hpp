// Settings files that real libraries load: what each library offers for a collective, and how what
// was tuned becomes its file. A format is one emit_*.cpp in this folder that registers itself;
// docs/settings.md describes them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/registry.hpp"
#include "base/units.hpp"
#include "models/stack.hpp"
#include "studies/execute/executed_collectives.hpp"

namespace forescale {

// When a library really runs what the plan does; elsewhere it silently runs something else, or ends
// the program.
struct LibraryLimits {
  int ranks_min = 2;
  bool power_of_two = false;
  bool even = false;
  bool one_element_a_rank = false;  // FP32: bytes >= 4 ranks
};

// One way in which a library runs an operation, and the registered plan that does the same. For
// sums of FP32 and root 0.
struct LibraryAlgorithm {
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::string id;     // the library's own: "4" (Open MPI), "MPIR_Bcast_intra_binomial", "ring"
  std::string title;  // for people: "ring"
  // As the library takes it; 0: whole messages, of an alternative the library's own.
  std::int64_t segment_bytes = 0;
  PlanChoice plan;
  LibraryLimits limits;
  // The library folds even ranks into odd ones where the plan folds odd ones into even ones: the
  // same with ranks 2i and 2i + 1 exchanged. Only where the rank count is no power of two.
  bool mirrors_folded = false;
  std::string source;  // repository, version, file

  // The smallest message for which it runs on `ranks` ranks.
  std::int64_t bytes_min(int ranks) const;
  // Why the library would run something else on so many ranks, or for so few bytes; empty: it would
  // not.
  std::string refuse(int ranks, std::int64_t bytes) const;
  // Whether it runs on every rank count from ranks_min on.
  bool serves_any_rank_count() const { return !limits.power_of_two && !limits.even; }
};

// What to run for messages of [from_bytes, to_bytes], both inclusive, on `ranks` ranks. Those of
// one operation and rank count do not overlap; where there is none, the library chooses.
struct SettingsRegion {
  CollectiveOp op = CollectiveOp::kAllReduce;
  int ranks = 0;
  int nodes = 0;  // 0: any
  std::int64_t from_bytes = 0;
  std::int64_t to_bytes = std::numeric_limits<std::int64_t>::max();
  std::optional<LibraryAlgorithm> chosen = {};  // none: the library's own choice
};

// What a training framework is told; only what was tuned is set.
struct TrainingSettings {
  std::optional<std::int64_t> fusion_threshold_bytes = {};  // Horovod
  std::optional<Seconds> cycle_time = {};                   // Horovod
  std::optional<std::int64_t> bucket_bytes = {};            // PyTorch DDP
};

struct TunedSettings {
  std::vector<SettingsRegion> regions = {};
  TrainingSettings training = {};
  // Said in the file's comments, in this order: {"platform", "kesch"}, {"stack", ...}, {"seed",
  // ...}, {"command", ...}, {"forescale", its version}.
  std::vector<std::pair<std::string, std::string>> provenance = {};
};

struct SettingsFormat {
  std::string name;                        // what --emit takes: "openmpi-rules"
  std::string summary;                     // one line
  std::string library;                     // "Open MPI"
  std::vector<std::string> versions = {};  // of the library that it is written for; first: default
  std::string file_name;                   // proposed: "openmpi-rules.conf"

  // All that the library offers for the operation and forescale has a plan for, one entry a segment
  // size; empty for operations without any. Null: the format takes any plan, or no collectives.
  std::vector<LibraryAlgorithm> (*algorithms)(CollectiveOp op) = nullptr;
  // It says which of a stack's alternatives to take (models/stack.hpp): of NCCL.
  bool takes_alternatives = false;
  bool takes_chunks = false;  // and in which chunks
  // What it does not say is left to nobody: the library's own choice has to be said as well.
  bool says_own_choice = false;
  bool replaces_tuner = false;  // of the stack: what that would take has to be said as well
  // The file's text, of checked settings and a known version.
  std::string (*emit)(const TunedSettings& settings, const std::string& version) = nullptr;
  // Lines for a shell that make the library load `file`.
  std::string (*how_to_load)(const std::string& file) = nullptr;
};

// A plan as an algorithm of its own name, for formats that take any ("csv").
LibraryAlgorithm own_algorithm(const PlanChoice& plan);
// An alternative of the stack, for a call of which it has rules: `id` is its name.
LibraryAlgorithm told_algorithm(CollectiveOp op, const AlternativeChoice& choice);

// The file for a version of the library; empty: the format's first. InputError naming
// --library-version for one that is not known, --emit when there is nothing to say in that format,
// and the region ("all-reduce on 8 ranks, 0 to 65535 B") for an empty one, one that overlaps with
// another, and an algorithm that the format does not have or that does not run on so many ranks.
std::string emit_settings(const SettingsFormat& format, const TunedSettings& settings,
                          const std::string& version = "");

}  // namespace forescale
