#include "base/json_once.hpp"

template class nlohmann::basic_json<>;
