#include "base/plain_json.hpp"

#include <simdjson.h>

#include <string_view>
#include <utility>

namespace forescale {
namespace {

using nlohmann::json;
using simdjson::dom::element;
using simdjson::dom::element_type;

// False for an object that has a key twice.
bool convert(const element& from, json& to) {
  switch (from.type()) {
    case element_type::OBJECT: {
      json::object_t members;
      for (const auto& [key, value] : simdjson::dom::object(from)) {
        const auto [member, is_new] = members.try_emplace(std::string(key));
        if (!is_new || !convert(value, member->second)) return false;
      }
      to = std::move(members);
      return true;
    }
    case element_type::ARRAY: {
      const simdjson::dom::array values(from);
      json::array_t all;
      all.reserve(values.size());  // at most 2^24, which is how far it counts
      for (const element& value : values)
        if (!convert(value, all.emplace_back())) return false;
      to = std::move(all);
      return true;
    }
    case element_type::INT64: {
      const std::int64_t number(from);
      if (number < 0)
        to = number;
      else
        to = static_cast<std::uint64_t>(number);  // as nlohmann's parser has it
      return true;
    }
    case element_type::UINT64:
      to = std::uint64_t(from);
      return true;
    case element_type::DOUBLE:
      to = double(from);
      return true;
    case element_type::STRING:
      to = std::string(std::string_view(from));
      return true;
    case element_type::BOOL:
      to = bool(from);
      return true;
    case element_type::NULL_VALUE:
      to = nullptr;
      return true;
  }
  return false;
}

}  // namespace

std::optional<json> parse_plain_json(const std::string& text) {
  simdjson::dom::parser parser;
  element root;
  json found;
  if (parser.parse(text).get(root) != simdjson::SUCCESS || !convert(root, found))
    return std::nullopt;
  return found;
}

}  // namespace forescale
