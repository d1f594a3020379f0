// Calibration that is not one-sided: constants that a paper shares with others, fitted to the rows
// of the others alone, and what that leaves of the paper's own error.
//
// A constant is an uncertain number of the machine or the workload (it has a fast and a slow end)
// that questions of this paper read, and those of another one too. The others' rows are asked with
// the constants of each file at their fast, then at their slow ends, and those that this moves by 1
// % or more with each constant of the file alone. Between the ends the logarithm of predicted over
// measured is taken to be linear in the constant's position (Scenario::position), and the
// constants' effects to add up. The fit minimises Huber's loss of the rows, whose deviation is 0.3,
// and for each constant a square of its position with the variance of a triangular distribution
// between its ends. All rows are then simulated with the constants as fitted; nothing of it is
// kept.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "studies/validate/validate.hpp"

namespace forescale {

struct SharedConstant {
  NumberSource number;             // the first of its places
  std::vector<std::string> names;  // of all of them, as --scale-number takes them
  std::set<std::string> papers;    // whose questions read it
  double position = 0;             // as fitted: -1 at its fast end, 0 nominal, 1 at its slow end

  double fitted() const;  // in the number's unit
};

struct LeftOut {
  std::string paper;
  std::vector<SharedConstant> constants;
  int fitted_rows = 0;  // of the other papers, that a constant moves
  Validation shipped;   // scored rows of all papers
  Validation refitted;  // the same with the constants as fitted, in the same order
};

// InputError for a paper that does not exist or is an open table.
LeftOut leave_out(const std::string& paper, const std::vector<ClaimFile>& files);

nlohmann::json to_json(const LeftOut& left_out);  // "forescale-left-out-1"

}  // namespace forescale
