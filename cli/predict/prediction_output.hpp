// A prediction for people and for spreadsheets.
#pragma once

#include <string>

#include "studies/predict/prediction.hpp"

namespace forescale {

// The scaling table, where the time goes, and what it rests on.
std::string to_table(const Prediction& prediction);
std::string to_csv(const Prediction& prediction);

}  // namespace forescale
