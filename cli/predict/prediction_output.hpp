// A prediction for people and for spreadsheets.
#pragma once

#include <map>
#include <string>

#include "studies/predict/prediction.hpp"

namespace forescale {

// The scaling table, where the time goes, and what it rests on.
std::string to_table(const Prediction& prediction);
std::string to_csv(const Prediction& prediction);

// "machine 71 %, what the model leaves out 29 %": those that matter.
std::string influences_text(const std::map<std::string, double>& shares);

}  // namespace forescale
