#include "algorithms/schedule_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.hpp"
#include "base/registry.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

[[noreturn]] void fail(const std::string& source, const std::string& text,
                       const std::string& constraint) {
  throw InputError({.source = source, .path = "", .value = text, .constraint = constraint});
}

double parse_number(const std::string& text, const std::string& source) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) fail(source, text, "is not a number");
  return value;
}

double parse_flag(const std::string& text, const std::string& source) {
  if (text == "true" || text == "yes" || text == "on") return 1;
  if (text == "false" || text == "no" || text == "off") return 0;
  fail(source, text, "must be true or false");
}

double parse_choice(const ScheduleOption& option, const std::string& text,
                    const std::string& source) {
  std::string names;
  for (size_t i = 0; i < option.choices.size(); ++i) {
    if (option.choices[i] == text) return static_cast<double>(i);
    names += (i == 0 ? "" : ", ") + option.choices[i];
  }
  fail(source, text, "must be one of: " + names);
}

double parse_value(const ScheduleOption& option, const std::string& text,
                   const std::string& source) {
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
  }
  return 0;
}

}  // namespace

ScheduleOptions ScheduleOptions::parse(const std::vector<ScheduleOption>& options,
                                       const std::map<std::string, std::string>& given,
                                       const std::string& where) {
  ScheduleOptions parsed;
  for (const ScheduleOption& option : options) parsed.values_[option.name] = option.fallback;
  for (const auto& [name, text] : given) {
    const auto option = std::find_if(options.begin(), options.end(),
                                     [&](const ScheduleOption& o) { return o.name == name; });
    if (option == options.end()) {
      std::string names;
      for (const ScheduleOption& o : options) {
        if (!names.empty()) names += ", ";
        names += o.name;
      }
      fail(where, name,
           names.empty() ? "is no option: this schedule has none"
                         : "is no option of this schedule (its options: " + names + ")");
    }
    const std::string source = fmt::format("{}:{}", where, name);
    const double value = parse_value(*option, text, source);
    if (value < option->min) fail(source, text, "must be >= " + to_text(*option, option->min));
    if (value > option->max) fail(source, text, "must be <= " + to_text(*option, option->max));
    parsed.values_[name] = value;
  }
  return parsed;
}

double ScheduleOptions::number(const std::string& name) const {
  const auto value = values_.find(name);
  FORESCALE_CHECK(value != values_.end(),
                  "a schedule reads an option that it did not declare: " + name);
  return value->second;
}

std::vector<double> doublings(double first, double last) {
  std::vector<double> values;
  for (double value = first; value <= last; value *= 2) values.push_back(value);
  return values;
}

std::string to_text(const ScheduleOption& option, double value) {
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

}  // namespace forescale
