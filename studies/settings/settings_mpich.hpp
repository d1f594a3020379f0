// MPICH's selection of collective algorithms: a decision tree in JSON.
//
// The file of MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE replaces the whole tree, so that it must
// hold every operation. A member is a condition with the subtree where it is met, tried in the
// order of the file; where a subtree has no condition that is met, MPICH ends the program. A leaf
// is "algorithm=NAME": {}. Sizes: of all-reduce, broadcast and reduce avg_msg_size is the vector,
// of allgather and reduce-scatter total_msg_size is the vectors of all ranks together.
// Source: pmodels/mpich v4.0.2, src/mpi/coll/src/csel.c. The tree to start from is the library's
// own, maint/tuning/coll/mpir/generic.json, which is compiled in and nowhere installed: it is in
// studies/settings/, with MPICH's copyright notice.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "studies/settings/settings.hpp"

namespace forescale {

using SelectionTree = nlohmann::ordered_json;  // the order of members counts

// Of MPICH 4.0.
const SelectionTree& mpich_default_tree();

// "allreduce"; nothing for operations that are not offered.
std::optional<std::string> mpich_name(CollectiveOp op);
// What `bytes` is to the tree: "avg_msg_size" or "total_msg_size".
std::string mpich_size_key(CollectiveOp op);

// InputError naming `file`, path, value and constraint for what MPICH would end the program over:
// no JSON, an unknown condition, sizes that are not covered, an operation of the default tree that
// is missing.
SelectionTree read_mpich_tree(const std::string& text, const std::string& file);

// Whether the tree has MPICH's own subtree for the operation.
bool is_default_in_mpich(const SelectionTree& tree, CollectiveOp op);

// The algorithm that the tree selects for sums of FP32 on ranks that have a node each. InputError
// naming `file` when no condition is met.
std::string mpich_selected(const SelectionTree& tree, const std::string& file, CollectiveOp op,
                           int ranks, std::int64_t bytes);

// Nothing where forescale has no plan for it.
std::optional<LibraryAlgorithm> mpich_algorithm(CollectiveOp op, const std::string& name);
std::vector<LibraryAlgorithm> mpich_algorithms(CollectiveOp op);

// MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE: 0 keeps the device from splitting the operation by node
// before the tree is asked.
std::string mpich_device_variable(CollectiveOp op);

}  // namespace forescale
