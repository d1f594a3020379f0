#include "topologies/platform_schema.hpp"

// GCC 12 sees a false one in <regex>, which valijson uses, when it also sanitizes.
#if defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "base/data_files.hpp"
#include "base/error.hpp"

namespace forescale {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

// valijson says where as {"<root>", "[node]", "[count]"}; this is "/node/count".
std::string pointer_of(const std::vector<std::string>& context) {
  std::string pointer;
  for (const std::string& step : context)
    if (step.size() > 2 && step.front() == '[') pointer += "/" + step.substr(1, step.size() - 2);
  return pointer;
}

std::string text_at(const nlohmann::json& root, const std::string& pointer) {
  const nlohmann::json::json_pointer place(pointer);
  if (!root.contains(place)) return "";
  const nlohmann::json& value = root.at(place);
  return value.is_structured() ? "" : value.dump();
}

}  // namespace

void check_platform_schema(const JsonInput& platform_file) {
  const JsonInput schema_file =
      JsonInput::from_file(find_data_file("topologies", "platform.schema", "platform schema"));
  valijson::Schema schema;
  valijson::SchemaParser parser;
  const Adapter schema_adapter(schema_file.raw());
  parser.populateSchema(schema_adapter, schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  const Adapter file_adapter(platform_file.raw());
  if (validator.validate(schema, file_adapter, &results)) return;

  // Errors of an outer value only repeat those inside it: the deepest one says what is wrong.
  valijson::ValidationResults::Error deepest;
  valijson::ValidationResults::Error error;
  bool is_first = true;
  while (results.popError(error)) {
    if (is_first || error.context.size() > deepest.context.size()) deepest = error;
    is_first = false;
  }
  const std::string pointer = pointer_of(deepest.context);
  throw InputError({.source = platform_file.file(),
                    .path = pointer.empty() ? "/" : pointer,
                    .value = text_at(platform_file.raw(), pointer),
                    .constraint = "must obey platform.schema.json: " + deepest.description});
}

}  // namespace forescale
