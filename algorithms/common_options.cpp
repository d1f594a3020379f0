#include "algorithms/common_options.hpp"

#include "base/error.hpp"
#include "base/units.hpp"

namespace forescale {

std::vector<int> parse_group_sizes(const std::string& text, const std::string& source) {
  std::vector<int> sizes;
  constexpr std::int64_t kLargest = 1 << 20;
  for (const std::int64_t size : parse_integers(text, source)) {
    if (size < 1 || size > kLargest)
      throw InputError({.source = source,
                        .path = "",
                        .value = std::to_string(size),
                        .constraint = "a group needs between 1 and 2^20 ranks"});
    sizes.push_back(static_cast<int>(size));
  }
  return sizes;
}

}  // namespace forescale
