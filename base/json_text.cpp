#include "base/json_text.hpp"

#include <istream>

namespace forescale {

using nlohmann::json;

json parse_json(const std::string& text, const json::parser_callback_t& on_event) {
  return json::parse(text, on_event);
}

json parse_json(std::istream& text) { return json::parse(text); }

json parse_json_or_discard(const std::string& text) { return json::parse(text, nullptr, false); }

json parse_json_or_discard(std::istream& text) { return json::parse(text, nullptr, false); }

}  // namespace forescale
