// What an answer must look like for the page to compute with it. A shape is JSON:
//
//   "text", "flag"                      a string; true or false
//   "number", "amount", "positive"      any number; one >= 0; one > 0
//   "count", "count1"                   a whole number from 0, from 1
//   "value"                             a text, a number, true, false or null
//   "number?"                           the same, or null
//   [shape], [shape, "+"]               a list of such elements; of one at least
//   {"key": shape, "other?": shape}     an object; what has a "?" may be missing or null
//   {"*": shape}                        an object with any keys
//   {"if fits": {...}}                  these too, unless "fits" is there and false
//   {"unless points": {...}}            these too, where there is no "points"
//   "forescale-prediction-1"            as an answer of that format
//
// Keys that a shape does not name may hold anything: the page shows them as text.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json_input.hpp"

namespace forescale {

// InputError naming file, path, value and constraint of the first thing that is not as it must be.
using Shapes = std::map<std::string, nlohmann::json>;  // by format
void check_shape(const JsonInput& value, const nlohmann::json& shape, const Shapes& all);

}  // namespace forescale
