#include "calibrate/measure/measured_kernel.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "calibrate/measure/measured_time.hpp"
#include "models/compute/gpu_kernel_json.hpp"

namespace forescale {

using nlohmann::json;

MeasuredKernel read_measured_kernel(const JsonInput& in) {
  MeasuredKernel measured;
  measured.kernel = read_gpu_kernel(
      in, {"time_s", "low_s", "high_s", "samples", "network", "layer", "algorithm"});
  measured.time_s = read_measured_time(in.at("time_s"));
  const TimeEnds ends = read_time_ends(in, "low_s", "high_s", measured.time_s);
  measured.low_s = ends.low_s;
  measured.high_s = ends.high_s;
  if (const auto samples = in.find("samples"))
    measured.samples = static_cast<int>(samples->integer(1, std::numeric_limits<int>::max()));
  if (const auto network = in.find("network")) measured.network = network->string();
  if (const auto layer = in.find("layer")) measured.layer = layer->string();
  if (const auto algorithm = in.find("algorithm")) measured.algorithm = algorithm->string();
  return measured;
}

json to_json(const MeasuredKernel& measured) {
  json object = to_json(measured.kernel);
  object["time_s"] = measured.time_s;
  if (measured.low_s != measured.time_s || measured.high_s != measured.time_s) {
    object["low_s"] = measured.low_s;
    object["high_s"] = measured.high_s;
  }
  if (measured.samples != 1) object["samples"] = measured.samples;
  if (!measured.network.empty()) object["network"] = measured.network;
  if (!measured.layer.empty()) object["layer"] = measured.layer;
  if (!measured.algorithm.empty()) object["algorithm"] = measured.algorithm;
  return object;
}

}  // namespace forescale
