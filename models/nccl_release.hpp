// Releases of NCCL, which choose by estimates of their own.
#pragma once

#include <compare>
#include <string>

#include "base/json_input.hpp"

namespace forescale {

struct NcclRelease {
  int major = 0;
  int minor = 0;

  auto operator<=>(const NcclRelease&) const = default;
  std::string text() const;  // "2.27"
  // "2.27"; false for what is none.
  static bool read(const std::string& text, NcclRelease& release);
};

// Those that a stack stands for, both ends included.
struct NcclReleases {
  NcclRelease first;
  NcclRelease last;

  std::string text() const;  // "2.23 to 2.27", "2.18"
  static NcclReleases read(const JsonInput& in);
};

// The stack of "nccl-2.20", that release on the platform whose own stack is `own`
// ("nccl-2.23-h100"): the one of the same kind that stands for it. InputError naming `where` when
// there is none, with those that there are. Empty where `asked` is no "nccl-" with a release.
std::string nccl_stack_of_release(const std::string& own, const std::string& asked,
                                  const std::string& where);

}  // namespace forescale
