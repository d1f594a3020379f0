// JSON from text, compiled once: nlohmann's parser is a template, and each file that calls it
// compiles it anew, for two seconds. And what nlohmann 3.11 has no way to write: an optional.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace forescale {

// Throws nlohmann::json::exception for what is no JSON. JsonInput reads what people have written.
nlohmann::json parse_json(const std::string& text,
                          const nlohmann::json::parser_callback_t& on_event = nullptr);
nlohmann::json parse_json(std::istream& text);

// is_discarded() where it is no JSON.
nlohmann::json parse_json_or_discard(const std::string& text);
nlohmann::json parse_json_or_discard(std::istream& text);

// null for nothing.
template <class Value>
nlohmann::json optional_json(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

}  // namespace forescale
