// Answers of a study as plain tables: SQL views in its database.
#pragma once

#include <string>
#include <vector>

namespace forescale {

// CREATE VIEW `result`: a row for each point and each element of its answer's "points", with place,
// status, reason, the options in `varied` (their '-' as '_') and the command's main numbers. Where
// an answer repeats an option, its value counts.
std::string result_view(const std::string& command, const std::vector<std::string>& varied);

// CREATE VIEW `number`: a row for each number of each answer.
std::string number_view();

}  // namespace forescale
