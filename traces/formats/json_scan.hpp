// Walks a JSON file that is too large to hold: value by value of its one large array.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/formats/trace_input.hpp"

namespace forescale {

// Between JSON's tokens.
inline bool is_space(int c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// The file is an array, or an object in which `array_key` is one. Memory is that of one value.
class JsonScan {
 public:
  JsonScan(TraceInput& input, std::string array_key);

  // Moves to the next element of the large array, or to the next other member of the object, in
  // the order of the file; false at its end. InputError, with the position, for text that is not
  // JSON or ends too early, and for a value above 64 MiB.
  bool next();

  // The member's name; empty for an element of the large array.
  const std::string& key() const { return key_; }
  // Text of the value, with room behind it as simdjson wants it.
  const std::string& text() const { return text_; }
  // Where the value begins, bytes from the beginning of the (decompressed) file.
  std::int64_t position() const { return position_; }

  // InputError at the value's position.
  [[noreturn]] void fail(const std::string& value, const std::string& constraint) const;

 private:
  enum class State { kStart, kInObject, kInArray, kEnd };

  int peek();  // -1 at the end
  int take();
  int take_past_space();  // the next character that is not white space
  void expect(char wanted, const char* what);
  void take_value(int first);  // into text_
  void take_string();          // its opening quote is in text_ already
  bool next_element();
  bool next_member();
  [[noreturn]] void fail_here(const std::string& constraint) const;

  TraceInput& input_;
  std::string array_key_;
  State state_ = State::kStart;
  bool in_object_ = false;  // the large array is a member
  bool is_first_ = true;    // no value before it in the present array or object
  std::string key_;
  std::string text_;
  std::int64_t position_ = 0;
  std::vector<char> block_;
  size_t at_ = 0;
  size_t end_ = 0;
  std::int64_t block_begin_ = 0;
};

}  // namespace forescale
