// Open MPI's dynamic rules, as its component coll/tuned reads them.
//
// File: numbers between blanks and line ends, '#' begins a comment.
//   [rule-file-version-2]           from Open MPI 5.0.7 on, at the very beginning; older ones
//                                   ignore a file with it
//   number of operations            for each of them:
//     id, number of rank counts     for each of them, by growing count:
//       ranks, number of sizes      for each of them, by growing size, the first one 0:
//         bytes algorithm fan-out segment_bytes [max_requests, version 2 only]
// A rule holds from its rank count and size to the next one's; algorithm 0 is the library's own
// choice. `bytes` is the whole vector: of allgather, all-to-all and reduce-scatter that of all
// ranks together. A file that is not read to its end is ignored without a word, and so is one that
// is missing.
// Source: open-mpi/ompi v4.1.4, ompi/mca/coll/tuned/coll_tuned_dynamic_file.c, _dynamic_rules.c and
// _decision_dynamic.c; the second version from the same file of the main branch, 2025.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/collective.hpp"

namespace forescale {

// MPI_Reduce_scatter_block for reduce-scatter; nothing for gather and scatter, whose rules are not
// offered.
std::optional<int> openmpi_id(CollectiveOp op);

struct OpenMpiRule {
  std::int64_t bytes = 0;  // from here on
  int algorithm = 0;       // 0: the library's own choice
  std::int64_t segment_bytes = 0;
};

struct OpenMpiRules {
  int version = 1;
  // By id, by rank count from which they hold.
  std::map<int, std::map<int, std::vector<OpenMpiRule>>> by_id = {};

  // What acts on this call; algorithm 0 where nothing does.
  OpenMpiRule rule_for(CollectiveOp op, int ranks, std::int64_t bytes) const;
};

// InputError naming `file`, line, value and constraint wherever Open MPI would ignore the file,
// misread it (a number that begins with 0 is octal to it) or end the program.
OpenMpiRules read_openmpi_rules(const std::string& text, const std::string& file);

}  // namespace forescale
