// How measurements are shown to people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "calibrate/measure/measurement.hpp"

namespace forescale {

// A row a series (pattern, ranks, sizes, points), then the notes.
std::string measurement_table(const Measurement& measurement);
// "3 series, 57 points".
std::string measurement_size(const Measurement& measurement);

// Names and notes of foreign logs need not be UTF-8: what is not is replaced.
inline nlohmann::json::error_handler_t json_errors() {
  return nlohmann::json::error_handler_t::replace;
}

}  // namespace forescale
