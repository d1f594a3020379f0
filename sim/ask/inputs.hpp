// What people type, as a prediction's inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/stack.hpp"
#include "models/workload/architecture.hpp"
#include "topologies/platform.hpp"

namespace forescale {

// The stack named; kNccl is what the platform names, else nccl-2.3, and "nccl-2.20" that release of
// it (models/nccl_release.hpp). Without a name the platform's NCCL, else `ideal` on a generated
// one, else an InputError that says to name one.
Stack stack_for(const Platform& platform, const std::string& text, Scenario scenario);

// Every rank count within the platform's slots, at least `min`; InputError naming --ranks.
void check_ranks(const Platform& platform, const std::vector<std::int64_t>& ranks,
                 const std::string& option);

// --input-shape: "3x227x227", nothing when empty.
std::optional<Shape> parse_shape(const std::string& text);

}  // namespace forescale
