// What bad input is refused with.
#pragma once

#include <functional>
#include <string>

#include "base/error.hpp"

namespace forescale::testing {

// What the InputError of `action` says; "accepted" if it throws none.
inline std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace forescale::testing
