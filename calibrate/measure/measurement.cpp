#include "calibrate/measure/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "algorithms/collective.hpp"
#include "base/error.hpp"
#include "base/json_input.hpp"
#include "calibrate/measure/measured_time.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "forescale-measurement-1";
constexpr int kRanksMax = 1 << 24;

constexpr std::array<std::pair<Pattern, const char*>, 23> kNames{{
    {Pattern::kPingPong, "ping-pong"},
    {Pattern::kShift, "shift"},
    {Pattern::kExchange, "exchange"},
    {Pattern::kFanIn, "fan-in"},
    {Pattern::kFanOut, "fan-out"},
    {Pattern::kPairs, "pairs"},
    {Pattern::kStream, "stream"},
    {Pattern::kLateReceive, "late-receive"},
    {Pattern::kBarrier, "barrier"},
    {Pattern::kReduction, "reduction"},
    {Pattern::kMemoryCopy, "memory-copy"},
    {Pattern::kGemm, "gemm"},
    {Pattern::kCollective, "collective"},
    {Pattern::kHostToDevice, "host-to-device"},
    {Pattern::kDeviceToHost, "device-to-host"},
    {Pattern::kHostToDevicePageable, "host-to-device-pageable"},
    {Pattern::kDeviceToHostPageable, "device-to-host-pageable"},
    {Pattern::kCopyBothWays, "copy-both-ways"},
    {Pattern::kPeerCopy, "peer-copy"},
    {Pattern::kFill, "fill"},
    {Pattern::kReductionBesideKernel, "reduction-beside-kernel"},
    {Pattern::kLaunch, "launch"},
    {Pattern::kSynchronize, "synchronize"},
}};

bool is_gpu_pattern(Pattern pattern) { return pattern > Pattern::kCollective; }

bool has_no_bytes(Pattern pattern) {
  return pattern == Pattern::kBarrier || pattern == Pattern::kLaunch ||
         pattern == Pattern::kSynchronize;
}

Pattern read_pattern(const JsonInput& in) {
  const std::string text = in.string();
  std::vector<std::string> names;
  for (const auto& [pattern, name] : kNames) {
    if (text == name) return pattern;
    names.emplace_back(name);
  }
  in.fail("is " + unknown_name(text, names));
}

// Why so many ranks cannot take part, empty if they can.
std::string refuse_ranks(Pattern pattern, int ranks) {
  switch (pattern) {
    case Pattern::kPingPong:
    case Pattern::kStream:
    case Pattern::kLateReceive:
      return ranks == 2 ? "" : "must be 2: this pattern has two ranks";
    case Pattern::kExchange:
    case Pattern::kPairs:
      return ranks >= 2 && ranks % 2 == 0 ? "" : "must be even: this pattern is made of pairs";
    case Pattern::kShift:
    case Pattern::kFanIn:
    case Pattern::kFanOut:
      return ranks >= 2 ? "" : "must be >= 2";
    case Pattern::kPeerCopy:
      return ranks == 2 ? "" : "must be 2: the GPUs between which is copied";
    default:
      return !is_gpu_pattern(pattern) || ranks == 1 ? "" : "must be 1: this pattern has one GPU";
  }
}

MeasuredPoint read_point(const JsonInput& in, Pattern pattern) {
  in.allow_only({"bytes", "time_s", "low_s", "high_s", "p10_s", "p90_s", "samples", "flops"});
  MeasuredPoint point;
  point.bytes = in.at("bytes").integer(0);
  if (has_no_bytes(pattern) && point.bytes != 0)
    in.at("bytes").fail(fmt::format("must be 0 for a {}", name_of(pattern)));
  point.time_s = read_measured_time(in.at("time_s"));
  const TimeEnds median = read_time_ends(in, "low_s", "high_s", point.time_s);
  const TimeEnds spread = read_time_ends(in, "p10_s", "p90_s", point.time_s);
  point.low_s = median.low_s;
  point.high_s = median.high_s;
  point.p10_s = spread.low_s;
  point.p90_s = spread.high_s;
  if (const auto samples = in.find("samples"))
    point.samples = static_cast<int>(samples->integer(1, std::numeric_limits<int>::max()));
  if (pattern == Pattern::kGemm) {
    point.flops = in.at("flops").number(0);
    if (point.flops <= 0) in.at("flops").fail("must be > 0");
  } else if (const auto flops = in.find("flops")) {
    flops->fail("is for the pattern \"gemm\" only");
  }
  return point;
}

std::vector<int> read_members(const JsonInput& in, int ranks) {
  std::vector<int> members;
  std::set<int> seen;
  for (const JsonInput& element : in.elements()) {
    members.push_back(static_cast<int>(element.integer(0, kRanksMax)));
    if (!seen.insert(members.back()).second) element.fail("is there twice");
  }
  if (!members.empty() && static_cast<int>(members.size()) != ranks)
    in.fail(fmt::format("must list as many ranks as take part, {}, and lists {}", ranks,
                        members.size()));
  return members;
}

Series read_series(const JsonInput& in) {
  in.allow_only(
      {"pattern", "ranks", "members", "place", "op", "algorithm", "ranks_per_host", "points"});
  Series series;
  series.pattern = read_pattern(in.at("pattern"));
  series.ranks = static_cast<int>(in.at("ranks").integer(1, kRanksMax));
  const std::string refusal = refuse_ranks(series.pattern, series.ranks);
  if (!refusal.empty()) in.at("ranks").fail(refusal);
  if (const auto members = in.find("members"))
    series.members = read_members(*members, series.ranks);
  if (is_gpu_pattern(series.pattern)) series.place = "gpu";
  if (const auto place = in.find("place")) {
    series.place = place->one_of({"host", "gpu"});
    if (is_gpu_pattern(series.pattern) && series.place != "gpu")
      place->fail("must be \"gpu\" for this pattern");
  }
  if (series.pattern == Pattern::kCollective) {
    const JsonInput op = in.at("op");
    try {
      series.op = name_of(parse_collective_op(op.string(), op.file()));
    } catch (const InputError& error) {
      op.fail("is " + error.parts().constraint);
    }
    if (const auto algorithm = in.find("algorithm")) series.algorithm = algorithm->string();
    if (const auto per_host = in.find("ranks_per_host")) {
      series.ranks_per_host = static_cast<int>(per_host->integer(1, series.ranks));
      if (series.ranks % series.ranks_per_host != 0)
        per_host->fail(fmt::format("must divide the {} ranks", series.ranks));
    }
  } else {
    for (const char* key : {"op", "algorithm", "ranks_per_host"})
      if (const auto given = in.find(key)) given->fail("is for the pattern \"collective\" only");
  }
  for (const JsonInput& element : in.at("points").elements()) {
    const MeasuredPoint point = read_point(element, series.pattern);
    if (!series.points.empty() && point.bytes <= series.points.back().bytes)
      element.at("bytes").fail(
          fmt::format("must be larger than the size before, {}", series.points.back().bytes));
    series.points.push_back(point);
  }
  if (series.points.empty()) in.at("points").fail("must have at least one point");
  return series;
}

// Text, or a number as it is written.
std::string read_fact(const JsonInput& in) {
  if (in.raw().is_number()) return in.raw().dump();
  return in.string();
}

void read_provenance(const JsonInput& in, Measurement& measurement) {
  for (const std::string& key : in.keys()) {
    const JsonInput value = in.at(key);
    if (key != "gpu") {
      measurement.provenance[key] = value.string();
      continue;
    }
    for (const std::string& fact : value.keys()) measurement.gpu[fact] = read_fact(value.at(fact));
  }
}

Measurement read(const JsonInput& in) {
  in.allow_only({"format", "machine", "library", "provenance", "notes", "series", "kernels"});
  in.at("format").one_of({kFormat});
  Measurement measurement;
  if (const auto machine = in.find("machine")) measurement.machine = machine->string();
  if (const auto library = in.find("library")) measurement.library = library->string();
  if (const auto provenance = in.find("provenance")) read_provenance(*provenance, measurement);
  if (const auto notes = in.find("notes"))
    for (const JsonInput& note : notes->elements()) measurement.notes.push_back(note.string());
  if (const auto kernels = in.find("kernels"))
    for (const JsonInput& kernel : kernels->elements())
      measurement.kernels.push_back(read_measured_kernel(kernel));
  if (measurement.kernels.empty() || in.has("series"))
    for (const JsonInput& element : in.at("series").elements())
      measurement.series.push_back(read_series(element));
  if (measurement.series.empty() && measurement.kernels.empty())
    in.at("series").fail("must have at least one series, or \"kernels\" beside it");
  return measurement;
}

json to_json(const MeasuredPoint& point) {
  json object{{"bytes", point.bytes}, {"time_s", point.time_s}};
  if (point.low_s != point.time_s || point.high_s != point.time_s) {
    object["low_s"] = point.low_s;
    object["high_s"] = point.high_s;
  }
  if (point.p10_s != point.time_s || point.p90_s != point.time_s) {
    object["p10_s"] = point.p10_s;
    object["p90_s"] = point.p90_s;
  }
  if (point.samples != 1) object["samples"] = point.samples;
  if (point.flops > 0) object["flops"] = point.flops;
  return object;
}

json to_json(const Series& series) {
  json object{{"pattern", name_of(series.pattern)},
              {"ranks", series.ranks},
              {"place", series.place},
              {"points", json::array()}};
  if (!series.members.empty()) object["members"] = series.members;
  if (!series.op.empty()) object["op"] = series.op;
  if (!series.algorithm.empty()) object["algorithm"] = series.algorithm;
  if (series.ranks_per_host > 1) object["ranks_per_host"] = series.ranks_per_host;
  for (const MeasuredPoint& point : series.points) object["points"].push_back(to_json(point));
  return object;
}

std::vector<Pattern> patterns_where(bool on_gpu) {
  std::vector<Pattern> list;
  for (const auto& [pattern, name] : kNames)
    if (is_gpu_pattern(pattern) == on_gpu) list.push_back(pattern);
  return list;
}

}  // namespace

const char* name_of(Pattern pattern) {
  for (const auto& [known, name] : kNames)
    if (known == pattern) return name;
  FORESCALE_CHECK(false, "a pattern without a name");
}

const std::vector<Pattern>& rank_patterns() {
  static const std::vector<Pattern> patterns = patterns_where(false);
  return patterns;
}

const std::vector<Pattern>& gpu_patterns() {
  static const std::vector<Pattern> patterns = patterns_where(true);
  return patterns;
}

Measurement read_measurement(const std::string& file) { return read(JsonInput::from_file(file)); }

Measurement read_measurement_text(const std::string& text, const std::string& file) {
  return read(JsonInput::from_text(text, file));
}

json to_json(const Measurement& measurement) {
  json document{{"format", kFormat},
                {"machine", measurement.machine},
                {"library", measurement.library},
                {"provenance", measurement.provenance},
                {"notes", measurement.notes},
                {"series", json::array()}};
  for (const Series& series : measurement.series) document["series"].push_back(to_json(series));
  if (!measurement.gpu.empty()) document["provenance"]["gpu"] = measurement.gpu;
  for (const MeasuredKernel& kernel : measurement.kernels)
    document["kernels"].push_back(to_json(kernel));
  return document;
}

}  // namespace forescale
