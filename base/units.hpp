// Units as strong types, with parsing and printing.
//
// Inside the program everything is SI base units: seconds, bytes, bytes per second, FLOP.
// People may type at the edge: 25us, 256MiB, 12.5GB/s, 56Gbit/s.
// GB = 1e9 bytes, GiB = 2^30 bytes, Gbit/s = 1e9 bit/s, everywhere.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace forescale {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr double kNs_per_us = 1000;
constexpr double kMicrosecond_s = 1e-6;

template <class Tag>
struct Quantity {
  double value = 0;  // SI base unit of Tag

  auto operator<=>(const Quantity&) const = default;
  Quantity& operator+=(Quantity other) { return value += other.value, *this; }
  Quantity& operator-=(Quantity other) { return value -= other.value, *this; }
  friend Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend Quantity operator*(double a, Quantity b) { return {a * b.value}; }
  friend Quantity operator*(Quantity a, double b) { return {a.value * b}; }
  friend Quantity operator/(Quantity a, double b) { return {a.value / b}; }
  friend double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};

using Seconds = Quantity<struct SecondsTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;

// An amount of memory or of data. Whole bytes.
struct Bytes {
  std::int64_t value = 0;

  auto operator<=>(const Bytes&) const = default;
  friend Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
  friend Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
  friend Bytes operator*(std::int64_t a, Bytes b) { return {a * b.value}; }
  friend Seconds operator/(Bytes a, BytesPerSecond b) {
    return {static_cast<double>(a.value) / b.value};
  }
};

// Parse what a person types. `source` names the option or file for the InputError that is thrown
// when the text is no number, has an unknown unit, is not finite or is negative.
Seconds parse_seconds(std::string_view text, const std::string& source);
Bytes parse_bytes(std::string_view text, const std::string& source);
BytesPerSecond parse_bandwidth(std::string_view text, const std::string& source);
std::int64_t parse_integer(std::string_view text, const std::string& source);

// Lists and doubling ranges: "16,32,64", "16..160" (16 32 64 128 160), "64KiB..256MiB".
std::vector<std::int64_t> parse_integers(std::string_view text, const std::string& source);
std::vector<Bytes> parse_byte_list(std::string_view text, const std::string& source);

// Short text for people, 4 significant digits: "1.234 ms", "256 MiB", "12.5 GB/s".
std::string to_text(Seconds time);
std::string to_text(Bytes bytes);
std::string to_text(BytesPerSecond bandwidth);

}  // namespace forescale
