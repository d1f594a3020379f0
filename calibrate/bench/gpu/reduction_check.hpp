// What a[i] += b[i] must give, and the numbers it is checked with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace forescale {

// Of magnitudes from 2^-12 to 2^12, of both signs; the same for the same seed.
std::vector<float> reduction_values(std::size_t count, std::uint32_t seed);

// Empty if `sums` are those that IEEE 754 gives for a + b, bit by bit; else the first that differs.
std::string wrong_sum(const std::vector<float>& a, const std::vector<float>& b,
                      const std::vector<float>& sums);

}  // namespace forescale
