#include "base/utf8.hpp"

#include "base/json_text.hpp"

namespace forescale {

bool is_utf8(const std::string& text) { return as_utf8(text) == text; }

std::string as_utf8(const std::string& text) {
  using nlohmann::json;
  return parse_json(json(text).dump(-1, ' ', false, json::error_handler_t::replace))
      .get<std::string>();
}

}  // namespace forescale
