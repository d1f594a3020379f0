#include "cli/report/shape.hpp"

#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr double kAny = std::numeric_limits<double>::lowest();

void check_scalar(const JsonInput& value, std::string type) {
  if (type.back() == '?') {
    if (value.raw().is_null()) return;
    type.pop_back();
  }
  if (type == "text") {
    value.string();
  } else if (type == "flag") {
    value.boolean();
  } else if (type == "number") {
    value.number(kAny);
  } else if (type == "amount") {
    value.number(0);
  } else if (type == "positive") {
    if (value.number(0) == 0) value.fail("must be > 0");
  } else if (type == "count") {
    value.integer(0);
  } else if (type == "count1") {
    value.integer(1);
  } else if (type == "value") {
    if (value.raw().is_structured()) value.fail("must be a text, a number or a flag");
  } else {
    FORESCALE_CHECK(false, "a report's view names a type that is none: " + type);
  }
}

void check_object(const JsonInput& value, const json& shape, const Shapes& all) {
  if (!value.is_object()) value.fail("must be an object");
  for (const auto& [key, of_key] : shape.items()) {
    if (key == "*") {
      for (const std::string& name : value.keys()) check_shape(value.at(name), of_key, all);
    } else if (key == "if fits") {
      const auto fits = value.find("fits");
      if (!fits || fits->boolean()) check_object(value, of_key, all);
    } else if (key.starts_with("unless ")) {
      if (!value.has(key.substr(std::strlen("unless ")))) check_object(value, of_key, all);
    } else if (key.back() == '?') {
      const auto found = value.find(key.substr(0, key.size() - 1));
      if (found && !found->raw().is_null()) check_shape(*found, of_key, all);
    } else {
      check_shape(value.at(key), of_key, all);
    }
  }
}

}  // namespace

void check_shape(const JsonInput& value, const json& shape, const Shapes& all) {
  if (shape.is_string()) {
    const auto answer = all.find(shape.get<std::string>());
    if (answer == all.end())
      check_scalar(value, shape);
    else
      check_object(value, answer->second, all);
  } else if (shape.is_array()) {
    const auto elements = value.elements();
    if (shape.size() > 1 && elements.empty()) value.fail("must have at least one element");
    for (const JsonInput& element : elements) check_shape(element, shape.at(0), all);
  } else {
    check_object(value, shape, all);
  }
}

}  // namespace forescale
