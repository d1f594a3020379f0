#include "base/option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "base/error.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

double parse_number(const std::string& text, const std::string& source) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value))
    refuse(source, text, "is not a number");
  return value;
}

double parse_flag(const std::string& text, const std::string& source) {
  if (text == "true" || text == "yes" || text == "on") return 1;
  if (text == "false" || text == "no" || text == "off") return 0;
  refuse(source, text, "must be true or false");
}

double parse_choice(const Option& option, const std::string& text, const std::string& source) {
  std::string names;
  for (size_t i = 0; i < option.choices.size(); ++i) {
    if (option.choices[i] == text) return static_cast<double>(i);
    names += (i == 0 ? "" : ", ") + option.choices[i];
  }
  refuse(source, text, "must be one of: " + names);
}

double parse_unit(const Option& option, const std::string& text, const std::string& source) {
  switch (option.unit) {
    case OptionUnit::kCount:
      return static_cast<double>(parse_integer(text, source));
    case OptionUnit::kBytes:
      return static_cast<double>(parse_bytes(text, source).value);
    case OptionUnit::kSeconds:
      return parse_seconds(text, source).value;
    case OptionUnit::kRatio:
      return parse_number(text, source);
    case OptionUnit::kFlag:
      return parse_flag(text, source);
    case OptionUnit::kChoice:
      return parse_choice(option, text, source);
    case OptionUnit::kText:
      break;
  }
  FORESCALE_CHECK(false, option.name + " is no number");
}

std::string replaced(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

// "64KiB" where that is exact, as parse_bytes() reads it.
std::string exact_bytes(std::int64_t bytes) {
  constexpr std::array<std::pair<std::int64_t, const char*>, 3> kUnits = {
      {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}}};
  for (const auto& [unit, name] : kUnits)
    if (bytes % unit == 0) return fmt::format("{}{}", bytes / unit, name);
  return fmt::format("{}B", bytes);
}

}  // namespace

double parse_option(const Option& option, const std::string& text, const std::string& source) {
  const double value = parse_unit(option, text, source);
  if (value < option.min) refuse(source, text, "must be >= " + to_text(option, option.min));
  if (value > option.max) refuse(source, text, "must be <= " + to_text(option, option.max));
  return value;
}

std::string to_text(const Option& option, double value) {
  switch (option.unit) {
    case OptionUnit::kBytes:
      return to_text(Bytes{static_cast<std::int64_t>(value)});
    case OptionUnit::kSeconds:
      return to_text(Seconds{value});
    case OptionUnit::kFlag:
      return value != 0 ? "true" : "false";
    case OptionUnit::kChoice:
      return option.choices.at(static_cast<size_t>(value));
    default:
      return fmt::format("{:g}", value);
  }
}

OptionValue parse_value(const Option& option, const std::string& text, const std::string& source) {
  if (option.unit != OptionUnit::kText)
    return static_cast<std::int64_t>(parse_option(option, text, source));
  std::string value = replaced(text, '+', ',');
  if (option.check_text != nullptr) option.check_text(value, source);
  return value;
}

OptionValue read_value(const Option& option, const JsonInput& in) {
  if (option.unit == OptionUnit::kBytes)
    return in.bytes(static_cast<std::int64_t>(option.min)).value;
  if (option.unit == OptionUnit::kCount)
    return in.integer(static_cast<std::int64_t>(option.min), static_cast<std::int64_t>(option.max));
  std::string text = in.string();
  try {
    if (option.check_text != nullptr) option.check_text(text, in.file());
  } catch (const InputError& error) {
    in.fail(error.parts().constraint);
  }
  return text;
}

void check_value(const Option& option, const OptionValue& value, const std::string& source) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (option.check_text != nullptr && !text->empty()) option.check_text(*text, source);
    return;
  }
  const std::int64_t number = std::get<std::int64_t>(value);
  const auto as_ratio = static_cast<double>(number);
  if (as_ratio == option.fallback) return;
  if (as_ratio < option.min)
    refuse(source, std::to_string(number), fmt::format("must be >= {:g}", option.min));
  if (as_ratio > option.max)
    refuse(source, std::to_string(number), fmt::format("must be <= {:g}", option.max));
}

std::string value_text(const Option& option, const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return replaced(*text, ',', '+');
  const std::int64_t number = std::get<std::int64_t>(value);
  return option.unit == OptionUnit::kBytes ? exact_bytes(number) : std::to_string(number);
}

void OptionValues::set(const std::string& name, OptionValue value) {
  Given changed = given();
  changed[name] = std::move(value);
  given_ = std::make_shared<const Given>(std::move(changed));
}

const OptionValues::Given& OptionValues::given() const {
  static const Given kNothing;
  return given_ ? *given_ : kNothing;
}

std::int64_t OptionValues::number(const Option& option) const {
  if (given_)
    if (const auto found = given_->find(option.name); found != given_->end())
      return std::get<std::int64_t>(found->second);
  return static_cast<std::int64_t>(option.fallback);
}

std::string OptionValues::text(const Option& option) const {
  if (given_)
    if (const auto found = given_->find(option.name); found != given_->end())
      return std::get<std::string>(found->second);
  return "";
}

}  // namespace forescale
