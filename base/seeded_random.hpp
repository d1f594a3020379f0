// Random numbers as functions of a key: the same on every machine, in whatever order they are
// asked.
#pragma once

#include <cstdint>

namespace forescale {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a well-mixed function of its argument.
std::uint64_t mixed(std::uint64_t x);
// In (0, 1], for a key that is mixed.
double seeded_uniform(std::uint64_t key);
// Of mean 0 and variance 1.
double seeded_normal(std::uint64_t key);

}  // namespace forescale
