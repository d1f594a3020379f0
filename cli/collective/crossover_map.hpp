// Which plan wins where, as SVG.
#pragma once

#include <string>
#include <vector>

#include "studies/tune/tune_collective.hpp"

namespace forescale {

// A cell for every rank count (row) and size (column) of one operation: the colour is the
// algorithm, the text its options and what it gains over the best of another algorithm; a dashed
// frame is a tie. Needs no script and no other file; a cell's tooltip says everything.
std::string crossover_map(const std::vector<TunedPoint>& points, const std::string& title);

}  // namespace forescale
