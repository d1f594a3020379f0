#include "traces/formats/json_scan.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <utility>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr size_t kJsonBlockBytes = 1 << 17;
constexpr size_t kValueBytesMax = 64 << 20;
constexpr int kEnd = -1;

bool ends_scalar(int c) { return c == ',' || c == ']' || c == '}' || c == kEnd || is_space(c); }

}  // namespace

JsonScan::JsonScan(TraceInput& input, std::string array_key)
    : input_(input), array_key_(std::move(array_key)), block_(kJsonBlockBytes) {}

int JsonScan::peek() {
  if (at_ == end_) {
    block_begin_ += static_cast<std::int64_t>(end_);
    input_.stream().read(block_.data(), static_cast<std::streamsize>(block_.size()));
    at_ = 0;
    end_ = static_cast<size_t>(input_.stream().gcount());
    if (end_ == 0) return kEnd;
  }
  return static_cast<unsigned char>(block_[at_]);
}

int JsonScan::take() {
  const int c = peek();
  if (c != kEnd) ++at_;
  return c;
}

int JsonScan::take_past_space() {
  int c = take();
  while (is_space(c)) c = take();
  return c;
}

void JsonScan::fail_here(const std::string& constraint) const {
  throw InputError({.source = input_.file(),
                    .path = fmt::format("byte {}", block_begin_ + static_cast<std::int64_t>(at_)),
                    .value = "",
                    .constraint = constraint});
}

void JsonScan::fail(const std::string& value, const std::string& constraint) const {
  throw InputError({.source = input_.file(),
                    .path = fmt::format("byte {}", position_),
                    .value = value,
                    .constraint = constraint});
}

void JsonScan::expect(char wanted, const char* what) {
  const int c = take_past_space();
  if (c == wanted) return;
  fail_here(c == kEnd ? fmt::format("ends before {}", what)
                      : fmt::format("is no JSON: expected {}", what));
}

void JsonScan::take_string() {
  for (;;) {
    const int c = take();
    if (c == kEnd) fail_here("ends within a string");
    text_ += static_cast<char>(c);
    if (c == '"') return;
    if (c == '\\') {
      const int escaped = take();
      if (escaped == kEnd) fail_here("ends within a string");
      text_ += static_cast<char>(escaped);
    }
    if (text_.size() > kValueBytesMax) fail_here("has a value of more than 64 MiB");
  }
}

void JsonScan::take_value(int first) {
  position_ = block_begin_ + static_cast<std::int64_t>(at_) - 1;
  text_.clear();
  if (first == kEnd) fail_here("ends where a value is expected");
  text_ += static_cast<char>(first);
  if (first == '"') {
    take_string();
  } else if (first == '{' || first == '[') {
    for (std::int64_t depth = 1; depth > 0;) {
      const int c = take();
      if (c == kEnd)
        fail_here(fmt::format("ends within the value that begins at byte {}", position_));
      text_ += static_cast<char>(c);
      if (c == '"') take_string();
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      if (text_.size() > kValueBytesMax) fail_here("has a value of more than 64 MiB");
    }
  } else {
    while (!ends_scalar(peek())) {
      text_ += static_cast<char>(take());
      if (text_.size() > kValueBytesMax) fail_here("has a value of more than 64 MiB");
    }
  }
  text_.reserve(text_.size() + simdjson::SIMDJSON_PADDING);
}

bool JsonScan::next() {
  if (state_ == State::kStart) {
    const int c = take_past_space();
    if (c != '{' && c != '[') fail_here("is no JSON object or array");
    in_object_ = c == '{';
    state_ = in_object_ ? State::kInObject : State::kInArray;
  }
  if (state_ == State::kInArray && next_element()) return true;
  if (state_ == State::kInObject) return next_member();
  return false;
}

bool JsonScan::next_element() {
  key_.clear();
  int c = take_past_space();
  if (c == ']') {
    is_first_ = false;
    state_ = in_object_ ? State::kInObject : State::kEnd;
    return false;
  }
  if (!is_first_) {
    if (c != ',') fail_here(c == kEnd ? "ends within the array" : "is no JSON: expected , or ]");
    c = take_past_space();
  }
  is_first_ = false;
  take_value(c);
  return true;
}

bool JsonScan::next_member() {
  for (;;) {
    int c = take_past_space();
    if (c == '}') {
      state_ = State::kEnd;
      return false;
    }
    if (!is_first_) {
      if (c != ',') fail_here(c == kEnd ? "ends within the object" : "is no JSON: expected , or }");
      c = take_past_space();
    }
    is_first_ = false;
    if (c != '"') fail_here(c == kEnd ? "ends within the object" : "is no JSON: expected a key");
    take_value(c);
    std::string key = text_.substr(1, text_.size() - 2);
    expect(':', "the colon after a key");
    c = take_past_space();
    if (key == array_key_ && c == '[') {
      state_ = State::kInArray;
      is_first_ = true;
      if (next_element()) return true;
      continue;  // it was empty
    }
    key_ = std::move(key);
    take_value(c);
    return true;
  }
}

}  // namespace forescale
