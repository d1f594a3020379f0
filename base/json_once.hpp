#pragma once
// nlohmann::json is instantiated in json_once.cpp alone. Precompiled into every file:
// CMakeLists.txt.

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
