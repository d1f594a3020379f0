#include "base/seeded_random.hpp"

#include <cmath>
#include <numbers>

namespace forescale {

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

double seeded_uniform(std::uint64_t key) {
  constexpr double kScale = 0x1.0p-53;
  return (static_cast<double>(key >> 11) + 1) * kScale;
}

// Box and Muller, 1958.
double seeded_normal(std::uint64_t key) {
  return std::sqrt(-2 * std::log(seeded_uniform(mixed(key)))) *
         std::cos(2 * std::numbers::pi * seeded_uniform(mixed(key + 1)));
}

}  // namespace forescale
