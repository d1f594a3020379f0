// A text trace read line by line, with the position for what is wrong with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "traces/formats/trace_input.hpp"

namespace forescale {

class TraceLines {
 public:
  explicit TraceLines(const std::string& file) : input_(file) {}

  // Moves to the next line; false at the end. InputError for a line above 64 MiB.
  bool next();
  std::string_view text() const { return text_; }
  std::uint32_t number() const { return number_; }
  const std::string& file() const { return input_.file(); }

  // InputError at this line.
  [[noreturn]] void fail(std::string_view value, const std::string& constraint) const;

 private:
  TraceInput input_;
  std::string text_;
  std::uint32_t number_ = 0;
};

// InputError naming the line of a file.
[[noreturn]] void fail_at_line(const std::string& file, std::uint32_t line, std::string_view value,
                               const std::string& constraint);

// Of a file that may hold anything: at most 60 characters, those that do not print as '?'.
std::string printable(std::string_view text);
// The file's name without its folders, for a program's title.
std::string title_of(const std::string& file);

// The whole text as a number; false where it is none, or none that fits.
bool parse_number(std::string_view text, double& number);
bool parse_number(std::string_view text, std::uint64_t& number);

}  // namespace forescale
