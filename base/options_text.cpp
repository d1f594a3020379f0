#include "base/options_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

namespace forescale {

OptionsText OptionsText::parse(const std::string& text, const std::string& option,
                               const std::set<std::string>& lists) {
  OptionsText result;
  result.option_ = option;
  const size_t colon = text.find(':');
  result.name_ = text.substr(0, colon);
  if (result.name_.empty())
    throw InputError({.source = option, .path = "", .value = "\"\"", .constraint = "is empty"});
  if (colon == std::string::npos) return result;
  std::string key;  // of the last item
  size_t begin = colon + 1;
  while (begin < text.size()) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, comma - begin);
    begin = comma + 1;
    const size_t equals = item.find('=');
    if (equals == std::string::npos && lists.contains(key)) {
      result.values_[key] += "," + item;
      continue;
    }
    if (equals == std::string::npos || equals == 0)
      throw InputError({.source = option,
                        .path = "",
                        .value = item,
                        .constraint = "must have the form key=value"});
    key = item.substr(0, equals);
    if (!result.values_.emplace(key, item.substr(equals + 1)).second)
      throw InputError({.source = option,
                        .path = "",
                        .value = item,
                        .constraint = "gives a key for the second time"});
  }
  return result;
}

std::optional<std::string> OptionsText::find(const std::string& key) const {
  const auto value = values_.find(key);
  if (value == values_.end()) return std::nullopt;
  return value->second;
}

std::string OptionsText::at(const std::string& key) const {
  if (auto value = find(key)) return *value;
  throw InputError(
      {.source = where(key), .path = "", .value = "", .constraint = "is required and missing"});
}

std::int64_t OptionsText::integer(const std::string& key, std::int64_t fallback, std::int64_t min,
                                  std::int64_t max) const {
  const auto text = find(key);
  if (!text) return fallback;
  const std::int64_t value = parse_integer(*text, where(key));
  if (value < min || value > max)
    throw InputError({.source = where(key),
                      .path = "",
                      .value = *text,
                      .constraint = value < min ? fmt::format("must be >= {}", min)
                                                : fmt::format("must be <= {}", max)});
  return value;
}

bool OptionsText::boolean(const std::string& key, bool fallback) const {
  const auto text = find(key);
  if (!text) return fallback;
  if (*text == "true" || *text == "yes") return true;
  if (*text == "false" || *text == "no") return false;
  throw InputError(
      {.source = where(key), .path = "", .value = *text, .constraint = "must be true or false"});
}

void OptionsText::allow_only(std::initializer_list<const char*> keys) const {
  allow_only(std::vector<std::string>(keys.begin(), keys.end()));
}

void OptionsText::allow_only(const std::vector<std::string>& known) const {
  for (const auto& [key, value] : values_)
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw InputError({.source = where(key),
                        .path = "",
                        .value = value,
                        .constraint = known.empty() ? "takes no options"
                                                    : "key is " + unknown_name(key, known)});
}

std::string OptionsText::where(const std::string& key) const {
  return option_ + " " + name_ + ":" + key;
}

}  // namespace forescale
