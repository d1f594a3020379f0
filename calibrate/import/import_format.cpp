#include "calibrate/import/import_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace forescale {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string shortened(std::string_view text) {
  constexpr size_t kLimit = 60;
  std::string shown(text.substr(0, kLimit));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return text.size() > kLimit ? shown + "..." : shown;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr const char* kBlanks = " \t";
  std::vector<std::string_view> words;
  size_t at = text.find_first_not_of(kBlanks);
  while (at != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

bool is_row(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.empty()) return false;
  std::string_view word = words.front();
  if (word.ends_with(')') || word.find(':') != std::string_view::npos) return false;
  if (word.front() == '-' || word.front() == '+') word.remove_prefix(1);
  if (!word.empty() && word.front() == '.') word.remove_prefix(1);
  return (!word.empty() && is_digit(word.front())) || word == "nan" || word == "inf";
}

std::int64_t leading_integer(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void ImportTarget::refuse(const LogLine& line, const std::string& why) const {
  throw InputError({.source = file_,
                    .path = fmt::format("line {}", line.number),
                    .value = shortened(line.text),
                    .constraint = why});
}

void ImportTarget::refuse_cut(const LogLine& line, const std::string& why) {
  if (!options_.partial) refuse(line, why + "; --partial takes what came before");
  note(line, why);
}

void ImportTarget::note(const std::string& text) {
  const std::string entry = file_.substr(file_.rfind('/') + 1) + ": " + text;
  std::vector<std::string>& notes = measurement_.notes;
  if (std::find(notes.begin(), notes.end(), entry) == notes.end()) notes.push_back(entry);
}

void ImportTarget::note(const LogLine& line, const std::string& text) {
  note(fmt::format("line {}: {}", line.number, text));
}

std::int64_t ImportTarget::integer(const LogLine& line, std::string_view word) const {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 0)
    refuse(line, fmt::format("\"{}\" must be a whole number of bytes, >= 0", shortened(word)));
  return value;
}

double ImportTarget::positive(const LogLine& line, std::string_view word, const char* what) const {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
    refuse(line, fmt::format("\"{}\" must be a {}: a number with a decimal point", shortened(word),
                             what));
  if (value <= 0) refuse(line, fmt::format("the {} must be > 0", what));
  return value;
}

int ImportTarget::rank_count(const LogLine& line, std::int64_t count) const {
  constexpr std::int64_t kRanksMax = 1 << 24;
  if (count < 1 || count > kRanksMax)
    refuse(line, fmt::format("must say how many ranks there were: 1 to {}", kRanksMax));
  return static_cast<int>(count);
}

std::int64_t ImportTarget::times(const LogLine& line, std::int64_t size, int blocks) const {
  if (size > std::numeric_limits<std::int64_t>::max() / blocks)
    refuse(line, fmt::format("{} blocks of {} bytes are more than 2^63", blocks, size));
  return size * blocks;
}

void ImportTarget::begin_series(Series series) {
  finish_series();
  series_ = std::move(series);
}

void ImportTarget::add_point(const LogLine& line, std::int64_t bytes, double time_s) {
  if (!series_.points.empty()) {
    const MeasuredPoint& before = series_.points.back();
    if (bytes == before.bytes && time_s == before.time_s) return;
    if (bytes == before.bytes) refuse(line, "this size is there twice, with different times");
    if (bytes < before.bytes)
      refuse(line, "sizes must grow: does another test begin here, without its header?");
  }
  series_.points.push_back({.bytes = bytes,
                            .time_s = time_s,
                            .low_s = time_s,
                            .high_s = time_s,
                            .p10_s = time_s,
                            .p90_s = time_s});
}

void ImportTarget::add_kernel(const LogLine& line, const MeasuredKernel& measured) {
  const std::string text =
      to_json(measured).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  try {
    measurement_.kernels.push_back(read_measured_kernel(JsonInput::from_text(text, file_)));
  } catch (const InputError& error) {
    refuse(line, fmt::format("{}: {}", error.parts().path, error.parts().constraint));
  }
}

bool ImportTarget::finish_series() {
  if (series_.points.empty()) return false;
  measurement_.series.push_back(std::move(series_));
  series_ = {};
  return true;
}

}  // namespace forescale
