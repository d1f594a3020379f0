#pragma once

namespace forescale {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace forescale
