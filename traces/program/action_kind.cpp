#include "traces/program/action_kind.hpp"

#include <algorithm>
#include <array>

namespace forescale {
namespace {

using Kind = Action::Kind;

constexpr std::array<const char*, 16> kNames{
    "kernel",    "collective", "send",       "receive",      "put",    "host-work",
    "host-copy", "timer",      "next-batch", "spawn",        "signal", "wait",
    "wait-any",  "test",       "set",        "end-iteration"};

}  // namespace

const char* name_of(Kind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

const std::vector<Kind>& all_action_kinds() {
  static const std::vector<Kind> kinds = [] {
    std::vector<Kind> all;
    for (std::size_t i = 0; i < kNames.size(); ++i) all.push_back(static_cast<Kind>(i));
    return all;
  }();
  return kinds;
}

bool makes_request(Kind kind) { return kind <= Kind::kSignal; }
bool takes_requests(Kind kind) { return kind >= Kind::kWait && kind <= Kind::kSet; }

}  // namespace forescale
