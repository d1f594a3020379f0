#include "traces/formats/trace_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr std::size_t kLineBytesMax = std::size_t{64} << 20;
constexpr std::size_t kShownMax = 60;

template <class Number>
bool parse(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end;
}

}  // namespace

bool TraceLines::next() {
  std::istream& in = input_.stream();
  std::array<char, 4096> part{};
  text_.clear();
  for (;;) {
    in.getline(part.data(), static_cast<std::streamsize>(part.size()));
    const auto count = static_cast<std::size_t>(in.gcount());
    if (in.eof() && count == 0 && text_.empty()) return false;
    // The end of line counts as read, where there is one.
    text_.append(part.data(), in.good() ? count - 1 : count);
    if (in.good() || in.eof()) break;
    in.clear();  // the part was full
    if (text_.size() > kLineBytesMax) {
      ++number_;
      fail("", "is longer than 64 MiB");
    }
  }
  ++number_;
  return true;
}

void TraceLines::fail(std::string_view value, const std::string& constraint) const {
  fail_at_line(file(), number_, value, constraint);
}

void fail_at_line(const std::string& file, std::uint32_t line, std::string_view value,
                  const std::string& constraint) {
  throw InputError({.source = file,
                    .path = fmt::format("line {}", line),
                    .value = printable(value),
                    .constraint = constraint});
}

std::string printable(std::string_view text) {
  std::string shown(text.substr(0, kShownMax));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (text.size() > kShownMax) shown += "...";
  return shown;
}

std::string title_of(const std::string& file) {
  return printable(std::filesystem::path(file).filename().string());
}

bool parse_number(std::string_view text, double& number) { return parse(text, number); }
bool parse_number(std::string_view text, std::uint64_t& number) { return parse(text, number); }

}  // namespace forescale
