#include "calibrate/import/import_profiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/median.hpp"
#include "base/units.hpp"
#include "calibrate/import/import_operator.hpp"
#include "traces/formats/trace_input.hpp"

namespace forescale {
namespace {

using nlohmann::json;

[[noreturn]] void refuse_at(const std::string& file, const std::string& path,
                            const std::string& why) {
  throw InputError({.source = file, .path = path, .value = "", .constraint = why});
}

const json& member(const json& object, const char* key) {
  static const json kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : ""; }

// "External id", "external id" of older versions; -1 if there is none.
std::int64_t external_id(const json& event) {
  const json& args = member(event, "args");
  if (!args.is_object()) return -1;
  for (const char* key : {"External id", "external id"})
    if (const json& id = member(args, key); id.is_number_integer()) return id.get<std::int64_t>();
  return -1;
}

std::int64_t correlation(const json& event) {
  const json& args = member(event, "args");
  const json& id = args.is_object() ? member(args, "correlation") : json();
  return id.is_number_integer() ? id.get<std::int64_t>() : -1;
}

// Calls of operators with the time of their kernels, by external id.
class Trace {
 public:
  Trace(const std::string& file, const json& events) : file_(file) {
    for (const json& event : events)
      if (event.is_object() && text_of(member(event, "ph")) == "X") sort(event);
    for (const json* kernel : kernels_) add_kernel(*kernel);
  }

  void fill(Measurement& measurement) const {
    struct Calls {
      OperatorCall call;
      std::vector<double> times_s;
    };
    std::map<std::string, Calls> alike;
    size_t shapeless = 0;
    for (const auto& [id, time_s] : kernel_time_s_) {
      const auto found = operators_.find(id);
      const auto call = found == operators_.end() ? std::nullopt : operator_call(*found->second);
      if (!call) {
        ++shapeless;
        continue;
      }
      Calls& calls = alike[call->key];
      calls.call = *call;
      calls.times_s.push_back(time_s);
    }
    for (auto& [key, calls] : alike) {
      std::sort(calls.times_s.begin(), calls.times_s.end());
      const double middle = median(calls.times_s);
      measurement.kernels.push_back({.kernel = calls.call.kernel,
                                     .time_s = middle,
                                     .low_s = middle,
                                     .high_s = middle,
                                     .samples = static_cast<int>(calls.times_s.size()),
                                     .algorithm = calls.call.algorithm});
    }
    if (shapeless > 0)
      measurement.notes.push_back(fmt::format(
          "{} calls of operators are left out: the trace has no shapes of them", shapeless));
    if (measurement.kernels.empty())
      refuse_at(
          file_, "/traceEvents",
          "must hold operators with GPU kernels and with shapes (profile(record_shapes=True))");
  }

 private:
  void sort(const json& event) {
    std::string category = text_of(member(event, "cat"));
    std::transform(category.begin(), category.end(), category.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (category == "kernel") kernels_.push_back(&event);
    const bool is_runtime =
        category == "cuda_runtime" || category == "runtime" || category == "cuda_driver";
    if (is_runtime && correlation(event) >= 0 && external_id(event) >= 0)
      external_of_[correlation(event)] = external_id(event);
    if ((category == "cpu_op" || category == "operator") && external_id(event) >= 0)
      operators_[external_id(event)] = &event;
  }

  void add_kernel(const json& kernel) {
    const json& duration = member(kernel, "dur");
    if (!duration.is_number() || duration.get<double>() <= 0) return;
    const auto called = external_of_.find(correlation(kernel));
    const std::int64_t id = called != external_of_.end() ? called->second : external_id(kernel);
    if (id >= 0) kernel_time_s_[id] += kMicrosecond_s * duration.get<double>();
  }

  const std::string& file_;
  std::map<std::int64_t, const json*> operators_;
  std::map<std::int64_t, std::int64_t> external_of_;  // by correlation
  std::vector<const json*> kernels_;
  std::map<std::int64_t, double> kernel_time_s_;
};

void read_device(const json& document, Measurement& measurement) {
  const json& devices = member(document, "deviceProperties");
  if (!devices.is_array() || devices.empty()) return;
  const json& device = devices.front();
  measurement.gpu["name"] = text_of(member(device, "name"));
  measurement.machine = measurement.gpu["name"];
  for (const auto& [key, fact] :
       {std::pair{"totalGlobalMem", "memory_bytes"}, {"numSms", "sm_count"}})
    if (const json& value = member(device, key); value.is_number())
      measurement.gpu[fact] = value.dump();
}

}  // namespace

bool is_profiler_trace(const std::string& file) {
  const std::string head = head_of_trace(file);
  const size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || (head[begin] != '{' && head[begin] != '[')) return false;
  for (const char* word :
       {"\"traceEvents\"", "\"deviceProperties\"", "\"ph\"", "\"schemaVersion\""})
    if (head.find(word) != std::string::npos) return true;
  return false;
}

Measurement import_profiler_trace(const std::string& file) {
  TraceInput input(file);
  json document;
  try {
    document = parse_json(input.stream());
  } catch (const json::exception& error) {
    refuse_at(file, "", fmt::format("is no JSON: {}", error.what()));
  }
  const json& events = document.is_array() ? document : member(document, "traceEvents");
  if (!events.is_array()) refuse_at(file, "/traceEvents", "must be a list of events");
  Measurement measurement;
  measurement.library = "PyTorch";
  if (document.is_object()) read_device(document, measurement);
  Trace(file, events).fill(measurement);
  measurement.provenance["logs"] =
      fmt::format("{} (pytorch-profiler)", file.substr(file.rfind('/') + 1));
  return measurement;
}

}  // namespace forescale
