// Published claims held against predictions: rows, errors and summaries (scoring.hpp).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/ask/ask.hpp"
#include "studies/validate/claims.hpp"
#include "studies/validate/scoring.hpp"

namespace forescale {

struct Validation {
  std::vector<ValidationRow> rows;
  std::vector<std::pair<std::string, OmissionRule>> rules;  // with their papers, those used
  std::vector<ValidationSummary> summaries;  // all papers together, each paper, each open table
  size_t runs = 0;                           // distinct simulations
};

struct ValidationChoice {
  std::vector<std::string> papers;  // empty: all
  std::vector<std::string> ids;
  std::vector<std::string> roles;
  Draws draws = Draws::kNominal;
};

struct ValidationCase {
  std::vector<ClaimFile> files;
  ValidationChoice choice;
};

// InputError for a paper, id or role that does not exist.
Validation validate(const std::vector<ClaimFile>& files, const ValidationChoice& choice);
// Cases with the same draws, in their order; what they need is simulated together, but for what
// `asker` was asked before. `label`: of the line that shows progress.
std::vector<Validation> validate_each(const std::vector<ValidationCase>& cases, Asker& asker,
                                      const std::string& label);

// One row from numbers that are there already; what cannot be had becomes its failure.
ValidationRow compare(const Claim& claim, FormulaValues& values);
nlohmann::json to_json(const Validation& validation);  // "forescale-validation-1"

}  // namespace forescale
