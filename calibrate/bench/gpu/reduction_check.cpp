#include "calibrate/bench/gpu/reduction_check.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace forescale {

std::vector<float> reduction_values(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  std::uint32_t state = seed | 1U;
  for (float& value : values) {
    // Xorshift, Marsaglia 2003.
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    const float fraction = static_cast<float>(state >> 8) / 16777216.0F;
    const int exponent = static_cast<int>(state % 25) - 12;
    value = std::ldexp(state % 2 == 0 ? fraction : -fraction, exponent);
  }
  return values;
}

std::string wrong_sum(const std::vector<float>& a, const std::vector<float>& b,
                      const std::vector<float>& sums) {
  if (sums.size() != a.size() || b.size() != a.size())
    return fmt::format("{} sums of {} and {} values", sums.size(), a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const float right = a[i] + b[i];
        std::bit_cast<std::uint32_t>(right) != std::bit_cast<std::uint32_t>(sums[i]))
      return fmt::format("value {} of {}: {} + {} gave {} instead of {}", i, a.size(), a[i], b[i],
                         sums[i], right);
  return "";
}

}  // namespace forescale
