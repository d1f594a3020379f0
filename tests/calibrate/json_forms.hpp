// The JSON forms of calibrate/, as tests have them read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/json_input.hpp"
#include "calibrate/bench/gpu/gpu_request.hpp"
#include "calibrate/measure/measurement.hpp"
#include "tests/base/refusal.hpp"

namespace forescale::testing {

inline GpuRequest gpu_request_from(const nlohmann::json& request) {
  return read_gpu_request(JsonInput::from_text(request.dump(), "request.json"));
}

// What a measurement is refused with, "accepted" if it is not.
inline std::string measurement_refusal(const nlohmann::json& measurement) {
  return refusal([&] { read_measurement_text(measurement.dump(), "m.json"); });
}

}  // namespace forescale::testing
