// JSON as most files are, read several times as fast as nlohmann's parser does.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace forescale {

// Nothing for what is no JSON, has a key of an object twice, or has numbers or depths that simdjson
// does not read: nlohmann's parser has the last word, and says what is wrong where.
std::optional<nlohmann::json> parse_plain_json(const std::string& text);

}  // namespace forescale
