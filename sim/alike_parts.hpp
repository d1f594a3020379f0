// Whether the parts of a call are alike (sim/engine/alike_parts.hpp): found by turning every way
// of the first part, or of each of the first few, into those of the others.
#pragma once

#include <optional>

#include "sim/engine/alike_parts.hpp"
#include "sim/resolved_call.hpp"

namespace forescale {

// Nothing where they are not, as where each has a root of its own, where there is one, or where
// they meet elsewhere than on links and caps: in ports of ranks, on cores, in copies through the
// host, and on links with other groups.
std::optional<AlikeParts> alike_parts(const ResolvedCall& resolved);

}  // namespace forescale
