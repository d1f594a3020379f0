// The events of a Horovod timeline (HOROVOD_TIMELINE), one by one: a JSON array of Chrome events,
// which may lack its end, because it was written while the run went on.
// Writer: github.com/horovod/horovod, horovod/common/timeline.cc.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traces/formats/trace_input.hpp"

namespace forescale {

class HorovodEvents {
 public:
  explicit HorovodEvents(const std::string& file) : input_(file) {}

  // Moves to the next event; false at the end. InputError, with the position, for what is no event,
  // and for a time before that of the event above. Views live until the next call.
  bool next();

  enum class Phase : std::uint8_t { kBegin, kEnd, kTick, kName, kOther };
  Phase phase() const { return phase_; }
  std::int64_t tensor() const { return tensor_; }  // "pid"
  std::string_view name() const { return name_; }  // empty for kEnd; for kName the tensor's
  std::int64_t time_ns() const { return time_ns_; }
  // By "dtype" and "shape" of the event; nothing where it does not say.
  std::optional<std::int64_t> bytes() const;

  const std::string& file() const { return input_.file(); }
  // InputError at the event.
  [[noreturn]] void fail(std::string_view value, const std::string& constraint) const;

 private:
  int take_past_space();  // the next character that is not white space; -1 at the end
  void take_object();
  void take_string();
  void parse();
  void parse_time();
  std::string_view text_at(const char* key) const;

  TraceInput input_;
  bool is_begun_ = false;
  bool is_first_ = true;
  std::string text_;
  std::int64_t position_ = 0;  // where the event begins, bytes
  simdjson::dom::parser parser_;
  simdjson::dom::element event_;
  Phase phase_ = Phase::kOther;
  std::int64_t tensor_ = 0;
  std::string_view name_;
  std::optional<std::int64_t> first_ns_;
  std::int64_t time_ns_ = 0;
};

}  // namespace forescale
