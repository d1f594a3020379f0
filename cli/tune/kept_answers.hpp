// Answers of a long search, kept in a --resume file: a first line of what they depend on, and one
// of each.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/stack.hpp"
#include "studies/tune/tune_collective.hpp"

namespace forescale {

// Of every number that was read, with its file, whatever file extends which.
std::string digest(const Provenance& provenance);
// Of what the stack's library can be told, which is no number of the stack until it is.
std::string digest(const std::map<std::string, Alternative>& alternatives);

// Those of `file`; none where there is no such file. InputError where its first line is not
// `expected`.
std::vector<TunedPoint> read_answered(const std::string& file, const nlohmann::json& expected);

// Appends a line for each answer as it comes. Children write through the same open file.
class KeptAnswers {
 public:
  // Nothing is kept without a file. `about`: the first line of a new one.
  KeptAnswers(const std::string& file, const nlohmann::json& about);
  void keep(const TunedPoint& point) const;

 private:
  void append(const std::string& text) const;
  std::string file_;
};

}  // namespace forescale
