// The JSON Schema of platform files, topologies/platform.schema.json (draft 7).
#pragma once

#include "base/json_input.hpp"

namespace forescale {

// InputError naming JSON path, value and constraint when the file breaks the schema. The reader of
// load_platform.cpp runs first and says more (the nearest key); the schema is the written contract
// for other tools, and this keeps the two from drifting apart.
void check_platform_schema(const JsonInput& platform_file);

}  // namespace forescale
