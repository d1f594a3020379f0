#include "base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

#include "base/error.hpp"

namespace forescale {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024.0;
constexpr std::array<Unit, 7> kSeconds{{{"s", 1},
                                        {"ms", 1e-3},
                                        {"us", 1e-6},
                                        {"ns", 1e-9},
                                        {"min", 60},
                                        {"h", 3600},
                                        {"days", 86400}}};
constexpr std::array<Unit, 10> kBytes{{{"", 1},
                                       {"B", 1},
                                       {"kB", 1e3},
                                       {"MB", 1e6},
                                       {"GB", 1e9},
                                       {"TB", 1e12},
                                       {"KiB", kKi},
                                       {"MiB", kKi* kKi},
                                       {"GiB", kKi* kKi* kKi},
                                       {"TiB", kKi* kKi* kKi* kKi}}};
constexpr std::array<Unit, 12> kBandwidths{{{"B/s", 1},
                                            {"kB/s", 1e3},
                                            {"MB/s", 1e6},
                                            {"GB/s", 1e9},
                                            {"TB/s", 1e12},
                                            {"KiB/s", kKi},
                                            {"MiB/s", kKi* kKi},
                                            {"GiB/s", kKi* kKi* kKi},
                                            {"kbit/s", 1e3 / 8},
                                            {"Mbit/s", 1e6 / 8},
                                            {"Gbit/s", 1e9 / 8},
                                            {"Tbit/s", 1e12 / 8}}};

[[noreturn]] void fail(std::string_view text, const std::string& source, std::string constraint) {
  throw InputError({.source = source,
                    .path = "",
                    .value = text.empty() ? "\"\"" : std::string(text),
                    .constraint = std::move(constraint)});
}

template <size_t N>
double parse_quantity(std::string_view text, const std::string& source,
                      const std::array<Unit, N>& units, std::string_view example) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number))
    fail(text, source, fmt::format("must be a number with a unit, such as {}", example));
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const Unit& known : units) {
    if (known.name != unit) continue;
    if (number < 0) fail(text, source, "must be >= 0");
    return number * known.factor;
  }
  std::vector<std::string> names;
  for (const Unit& known : units)
    if (!known.name.empty()) names.emplace_back(known.name);
  if (unit.ends_with("b/s") || unit.ends_with("bps"))  // eight times as much, or not
    fail(text, source,
         fmt::format("unit \"{}\" may be bits or bytes: say Gbit/s or GB/s, Mbit/s or MB/s", unit));
  if (unit.empty()) fail(text, source, fmt::format("needs a unit, such as {}", example));
  fail(text, source, fmt::format("unit \"{}\" is {}", unit, unknown_name(unit, names)));
}

std::vector<std::int64_t> parse_list(std::string_view text, const std::string& source,
                                     const std::function<std::int64_t(std::string_view)>& parse) {
  std::vector<std::int64_t> values;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, comma - begin);
    begin = comma + 1;
    const size_t dots = item.find("..");
    if (dots == std::string_view::npos) {
      values.push_back(parse(item));
      continue;
    }
    const std::int64_t first = parse(item.substr(0, dots));
    const std::int64_t last = parse(item.substr(dots + 2));
    if (first <= 0) fail(text, source, "a doubling range must start above 0");
    if (last < first) fail(text, source, "a range must not end below its start");
    std::int64_t value = first;
    for (; value < last; value *= 2) {
      values.push_back(value);
      if (value > last / 2) break;
    }
    if (values.empty() || values.back() != last) values.push_back(last);
  }
  return values;
}

// "1,5MiB" is no 1.5 MiB, and hardly one byte and 5 MiB; "1..64KiB" no better.
void refuse_missing_unit(std::string_view text, const std::string& source) {
  bool has_unit = false;
  std::string_view without;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min({text.find(',', begin), text.find("..", begin), text.size()});
    const std::string_view item = text.substr(begin, end - begin);
    begin = end + (text.substr(end).starts_with("..") ? 2 : 1);
    if (item.empty()) continue;
    const char last = item.back();
    if (last < '0' || last > '9')
      has_unit = true;
    else if (item != "0")
      without = item;
  }
  if (has_unit && !without.empty())
    fail(text, source,
         fmt::format("\"{}\" needs a unit beside sizes that have one: {}B, or {}KiB, ...", without,
                     without, without));
}

}  // namespace

Seconds parse_seconds(std::string_view text, const std::string& source) {
  return {parse_quantity(text, source, kSeconds, "25us")};
}

Bytes parse_bytes(std::string_view text, const std::string& source) {
  const double bytes = parse_quantity(text, source, kBytes, "256MiB");
  if (bytes != std::floor(bytes)) fail(text, source, "must be a whole number of bytes");
  if (bytes > 9e18) fail(text, source, "must be below 9e18 bytes");
  return {static_cast<std::int64_t>(bytes)};
}

BytesPerSecond parse_bandwidth(std::string_view text, const std::string& source) {
  const double rate = parse_quantity(text, source, kBandwidths, "12.5GB/s or 56Gbit/s");
  if (rate <= 0) fail(text, source, "must be > 0");
  return {rate};
}

std::int64_t parse_integer(std::string_view text, const std::string& source) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    fail(text, source, "must be a whole number");
  return value;
}

std::vector<std::int64_t> parse_integers(std::string_view text, const std::string& source) {
  return parse_list(text, source,
                    [&](std::string_view item) { return parse_integer(item, source); });
}

std::vector<Bytes> parse_byte_list(std::string_view text, const std::string& source) {
  refuse_missing_unit(text, source);
  std::vector<Bytes> sizes;
  for (std::int64_t value : parse_list(
           text, source, [&](std::string_view item) { return parse_bytes(item, source).value; }))
    sizes.push_back({value});
  return sizes;
}

std::string to_text(Seconds time) {
  const double magnitude = std::abs(time.value);
  if (magnitude == 0) return "0 s";
  if (magnitude < 1e-6) return fmt::format("{:.4g} ns", time.value * 1e9);
  if (magnitude < 1e-3) return fmt::format("{:.4g} us", time.value * 1e6);
  if (magnitude < 1) return fmt::format("{:.4g} ms", time.value * 1e3);
  return fmt::format("{:.4g} s", time.value);
}

std::string to_text(Bytes bytes) {
  constexpr std::array<std::string_view, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  double number = static_cast<double>(bytes.value);
  size_t power = 0;
  while (std::abs(number) >= kKi && power + 1 < kNames.size()) {
    number /= kKi;
    ++power;
  }
  return fmt::format("{:.4g} {}", number, kNames[power]);
}

std::string to_text(BytesPerSecond bandwidth) {
  constexpr std::array<std::string_view, 5> kNames{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  double number = bandwidth.value;
  size_t power = 0;
  while (std::abs(number) >= 1000 && power + 1 < kNames.size()) {
    number /= 1000;
    ++power;
  }
  return fmt::format("{:.4g} {}", number, kNames[power]);
}

}  // namespace forescale
