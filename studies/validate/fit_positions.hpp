// Constants between their ends, fitted to rows that they move.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace forescale {

// A row of the fit: log(predicted over measured) with all constants nominal, and by constant what
// it gains at the fast and at the slow end.
struct FitRow {
  double nominal = 0;
  std::vector<std::array<double, 2>> at_ends = {};
};

// Positions, each in [-1, 1], at which the loss of rows and constants is least of those that lead
// downhill from all constants nominal, fast or slow.
std::vector<double> fit_positions(const std::vector<FitRow>& rows, std::size_t constants);

}  // namespace forescale
