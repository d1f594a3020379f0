#include "calibrate/bench/gpu/gpu_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace forescale {
namespace {

using nlohmann::json;

// Spread p10..p90 of a time, over its median, above which it is called wide.
constexpr double kWideSpread = 0.25;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void put_times(json& object, const SampleSummary& times_s) {
  object["time_s"] = times_s.median;
  if (times_s.samples < 2) return;
  object["low_s"] = times_s.low;
  object["high_s"] = times_s.high;
  object["samples"] = times_s.samples;
}

}  // namespace

GpuAnswer::GpuAnswer(const GpuRequest& request, std::string file) : file_(std::move(file)) {
  document_ = {{"format", "forescale-measurement-1"},
               {"machine", request.machine},
               {"library", "CUDA"},
               {"provenance", request.provenance},
               {"notes", json::array()},
               {"series", json::array()}};
}

void GpuAnswer::set_facts(const std::map<std::string, std::string>& facts) {
  document_["provenance"]["gpu"] = facts;
}

void GpuAnswer::begin_series(const GpuSeriesRequest& series, const std::vector<int>& members) {
  json& all = document_["series"];
  all.push_back({{"pattern", series.pattern},
                 {"ranks", members.size()},
                 {"members", members},
                 {"place", "gpu"},
                 {"points", json::array()}});
  if (!series.op.empty()) {
    all.back()["op"] = series.op;
    all.back()["ranks_per_host"] = members.size();
  }
}

void GpuAnswer::add_point(std::int64_t bytes, const SampleSummary& times_s) {
  json point = {{"bytes", bytes}};
  put_times(point, times_s);
  if (times_s.samples > 1) {
    point["p10_s"] = times_s.p10;
    point["p90_s"] = times_s.p90;
  }
  document_["series"].back()["points"].push_back(point);
  count_spread(times_s);
}

void GpuAnswer::add_kernel(const GpuKernelRequest& kernel, const SampleSummary& times_s,
                           const std::string& algorithm) {
  json entry = kernel.entry;
  put_times(entry, times_s);
  if (!algorithm.empty()) entry["algorithm"] = algorithm;
  document_["kernels"].push_back(entry);
  count_spread(times_s);
}

void GpuAnswer::count_spread(const SampleSummary& times_s) {
  ++times_;
  if (times_s.samples >= 6 && times_s.p90 - times_s.p10 > kWideSpread * times_s.median)
    ++wide_times_;
}

void GpuAnswer::note(const std::string& text, const std::string& example) {
  const auto same = std::find_if(notes_.begin(), notes_.end(),
                                 [&](const Note& note) { return note.text == text; });
  if (same != notes_.end())
    ++same->count;
  else
    notes_.push_back({.text = text, .example = example, .count = 1});
}

// A series of which nothing could be measured is none.
json GpuAnswer::document() const {
  json document = document_;
  json series = json::array();
  for (const json& one : document["series"])
    if (!one["points"].empty()) series.push_back(one);
  document["series"] = series;
  for (const Note& note : notes_) {
    std::string text = note.text;
    if (note.count > 1) text = fmt::format("{} times: {}", note.count, text);
    if (!note.example.empty())
      text += fmt::format(" ({}{})", note.count > 1 ? "first: " : "", note.example);
    document["notes"].push_back(text);
  }
  return document;
}

void GpuAnswer::write() {
  const double begin_s = now_s();
  const std::string unfinished = file_ + ".part";
  std::ofstream stream(unfinished, std::ios::binary | std::ios::trunc);
  stream << document().dump(1, ' ', false, json::error_handler_t::replace) << '\n';
  stream.close();
  std::error_code error;
  if (stream) std::filesystem::rename(unfinished, file_, error);
  if (!stream || error) throw std::runtime_error(file_ + " cannot be written");
  written_s_ = now_s();
  writing_s_ = written_s_ - begin_s;
}

void GpuAnswer::keep() {
  constexpr double kEvery_s = 0.3;
  constexpr double kShare = 20;  // writing takes a twentieth of the time at most
  if (now_s() - written_s_ >= std::max(kEvery_s, kShare * writing_s_)) write();
}

}  // namespace forescale
