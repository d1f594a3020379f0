// Whether members of a call are alike (sim/engine/alike_members.hpp): found by turning every way of
// those that would stand for others into the others'.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/engine/alike_members.hpp"
#include "sim/resolved_call.hpp"

namespace forescale {

// Of plans with more operations, of all roles, none is turned: that takes seconds.
inline constexpr std::uint64_t kTurnedOperationsMax = 40'000'000;

// Those of groups that call at once are alike only together. Nothing where they are not: as where
// there is a root, or where buffers are copied through the host. Parts are not, either, where they
// meet elsewhere than on links and caps: in ports of ranks, or adding.
std::optional<AlikeMembers> alike_members(const ResolvedCall& resolved);

// Of a call that lives as long; looked for when first asked for.
class FoundAlike {
 public:
  explicit FoundAlike(const ResolvedCall& resolved) : resolved_(resolved) {}
  const std::optional<AlikeMembers>& get() {
    if (!found_) found_.emplace(alike_members(resolved_));
    return *found_;
  }

 private:
  const ResolvedCall& resolved_;
  std::optional<std::optional<AlikeMembers>> found_ = {};
};

}  // namespace forescale
