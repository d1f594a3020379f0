// What Open MPI's component coll/tuned offers, by the numbers of its dynamic rules
// (openmpi_rules.hpp).
#pragma once

#include <optional>
#include <vector>

#include "studies/settings/openmpi_rules.hpp"
#include "studies/settings/settings.hpp"

namespace forescale {

// The algorithm of a rule; nothing where forescale has no plan for it or the rule says 0.
std::optional<LibraryAlgorithm> openmpi_algorithm(CollectiveOp op, const OpenMpiRule& rule);

// All of an operation, with some segment sizes.
std::vector<LibraryAlgorithm> openmpi_algorithms(CollectiveOp op);

}  // namespace forescale
