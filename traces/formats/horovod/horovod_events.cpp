#include "traces/formats/horovod/horovod_events.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "traces/formats/json_scan.hpp"
#include "traces/formats/trace_lines.hpp"

namespace forescale {
namespace {

namespace dom = simdjson::dom;

constexpr int kEndOfStream = std::char_traits<char>::eof();
constexpr size_t kEventBytesMax = 1 << 20;
constexpr double kTime_us_max = 9e15;                            // in ns it still fits 64 bits
constexpr std::int64_t kRun_ns_max = 1'000'000'000'000'000'000;  // of a program's compute time
constexpr std::int64_t kTensorBytesMax = std::int64_t{1} << 50;  // as in a program

std::optional<std::int64_t> bytes_of_dtype(std::string_view dtype) {
  constexpr std::array<std::pair<const char*, int>, 12> kTypes{{{"uint8", 1},
                                                                {"int8", 1},
                                                                {"uint16", 2},
                                                                {"int16", 2},
                                                                {"int32", 4},
                                                                {"int64", 8},
                                                                {"float16", 2},
                                                                {"bfloat16", 2},
                                                                {"float32", 4},
                                                                {"float64", 8},
                                                                {"bool", 1},
                                                                {"byte", 1}}};
  for (const auto& [name, bytes] : kTypes)
    if (dtype == name) return bytes;
  return std::nullopt;
}

}  // namespace

void HorovodEvents::fail(std::string_view value, const std::string& constraint) const {
  throw InputError({.source = input_.file(),
                    .path = fmt::format("byte {}", position_),
                    .value = printable(value),
                    .constraint = constraint});
}

int HorovodEvents::take_past_space() {
  std::streambuf& text = *input_.stream().rdbuf();
  int c = text.sbumpc();
  while (is_space(c)) c = text.sbumpc();
  position_ = input_.position() - (c == kEndOfStream ? 0 : 1);
  return c;
}

bool HorovodEvents::next() {
  if (!is_begun_) {
    if (take_past_space() != '[') fail("", "is no JSON array");
    is_begun_ = true;
  }
  int c = take_past_space();
  if (!is_first_ && c == ',')
    c = take_past_space();
  else if (!is_first_ && c != ']' && c != kEndOfStream)
    fail("", "is no JSON: expected , or ]");
  is_first_ = false;
  if (c == kEndOfStream) return false;
  if (c == ']') {
    if (take_past_space() != kEndOfStream) fail("", "must be the end: it is behind the array's");
    return false;
  }
  if (c != '{') fail("", "must be an event: an object");
  take_object();
  parse();
  return true;
}

void HorovodEvents::take_object() {
  std::streambuf& in = *input_.stream().rdbuf();
  text_.assign(1, '{');
  for (std::int64_t depth = 1; depth > 0;) {
    const int c = in.sbumpc();
    if (c == kEndOfStream) fail(text_, "is cut off: the file ends within this event");
    text_ += static_cast<char>(c);
    if (c == '"') take_string();
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if (text_.size() > kEventBytesMax) fail(text_, "is an event of more than 1 MiB");
  }
}

void HorovodEvents::take_string() {
  std::streambuf& in = *input_.stream().rdbuf();
  for (bool is_escaped = false;;) {
    const int c = in.sbumpc();
    if (c == kEndOfStream) fail(text_, "is cut off: the file ends within this event");
    text_ += static_cast<char>(c);
    if (c == '"' && !is_escaped) return;
    is_escaped = c == '\\' && !is_escaped;
    if (text_.size() > kEventBytesMax) fail(text_, "is an event of more than 1 MiB");
  }
}

std::string_view HorovodEvents::text_at(const char* key) const {
  std::string_view text;
  return event_[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

void HorovodEvents::parse() {
  const auto error = parser_.parse(text_).get(event_);
  if (error != simdjson::SUCCESS)
    fail(text_, std::string("is no JSON: ") + simdjson::error_message(error));
  const std::string_view phase = text_at("ph");
  name_ = text_at("name");
  if (phase == "i") {  // marks the begin of a cycle, of no tensor
    phase_ = Phase::kOther;
    return;
  }
  if (event_["pid"].get(tensor_) != simdjson::SUCCESS) fail(text_, "must have a pid: a tensor");
  if (phase == "M") {
    const bool is_name =
        name_ == "process_name" && event_["args"]["name"].get(name_) == simdjson::SUCCESS;
    phase_ = is_name ? Phase::kName : Phase::kOther;
    return;
  }
  if (phase != "B" && phase != "E" && phase != "X")
    fail(phase, "is no phase (\"ph\") of Horovod's timelines: B, E, X, M or i");
  phase_ = phase == "B" ? Phase::kBegin : phase == "E" ? Phase::kEnd : Phase::kTick;
  if (phase_ != Phase::kEnd && name_.empty()) fail(text_, "must have a name");
  parse_time();
}

void HorovodEvents::parse_time() {
  double time_us = 0;
  if (event_["ts"].get(time_us) != simdjson::SUCCESS || !(time_us >= 0))
    fail(text_, "must have a time (\"ts\") in microseconds that is not negative");
  if (time_us > kTime_us_max) fail(text_, "is beyond all times (\"ts\")");
  const std::int64_t time_ns = std::llround(time_us * kNs_per_us);
  if (!first_ns_) first_ns_ = time_ns_ = time_ns;
  if (time_ns < time_ns_)
    fail(text_, "is before the event above it: Horovod writes events in the order of time");
  if (time_ns - *first_ns_ > kRun_ns_max) fail(text_, "is too long after the first event");
  time_ns_ = time_ns;
}

std::optional<std::int64_t> HorovodEvents::bytes() const {
  std::string_view dtype;
  std::string_view shape;
  if (event_["args"]["dtype"].get(dtype) != simdjson::SUCCESS ||
      event_["args"]["shape"].get(shape) != simdjson::SUCCESS)
    return std::nullopt;
  const auto element_bytes = bytes_of_dtype(dtype);
  if (!element_bytes) fail(dtype, "is no element type (\"dtype\") that Horovod has");
  constexpr const char* kForm = "must be a shape: \"[64, 3]\"";
  if (shape.size() < 2 || shape.front() != '[' || shape.back() != ']') fail(shape, kForm);
  std::int64_t bytes = *element_bytes;
  const char* at = shape.data() + 1;
  const char* const end = shape.data() + shape.size() - 1;
  while (at != end) {
    std::int64_t length = 0;
    const auto [behind, error] = std::from_chars(at, end, length);
    if (error != std::errc() || length < 0) fail(shape, kForm);
    if (length > 0 && bytes > kTensorBytesMax / length) fail(shape, "is too large a tensor");
    bytes *= length;
    at = behind;
    if (at == end) break;
    if (end - at < 2 || *at != ',') fail(shape, kForm);
    at += at[1] == ' ' ? 2 : 1;
  }
  return bytes;
}

}  // namespace forescale
