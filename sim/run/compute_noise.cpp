#include "sim/run/compute_noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "base/error.hpp"
#include "base/options_text.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a well-mixed function of its argument.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// In (0, 1].
double uniform(std::uint64_t x) {
  constexpr double kScale = 0x1.0p-53;
  return (static_cast<double>(x >> 11) + 1) * kScale;
}

double parse_between(const std::string& text, const std::string& option, double min, double max) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= min && value <= max))
    throw InputError({.source = option,
                      .path = "",
                      .value = text,
                      .constraint = fmt::format("must be a number from {:g} to {:g}", min, max)});
  return value;
}

}  // namespace

double ComputeNoise::factor(int rank, std::uint64_t number) const {
  double factor = 1;
  if (sigma > 0) {
    const std::uint64_t key = mix(mix(seed + static_cast<std::uint64_t>(rank)) + number);
    const double normal = std::sqrt(-2 * std::log(uniform(mix(key)))) *
                          std::cos(2 * std::numbers::pi * uniform(mix(key + 1)));
    factor = std::exp(sigma * normal - sigma * sigma / 2);
  }
  const auto straggler = stragglers.find(rank);
  return straggler == stragglers.end() ? factor : factor * straggler->second;
}

ComputeNoise parse_noise(const std::string& noise, const std::string& stragglers) {
  ComputeNoise parsed;
  if (!noise.empty()) {
    const OptionsText options = OptionsText::parse("noise:" + noise, "--noise");
    options.allow_only({"sigma", "seed"});
    parsed.sigma = parse_between(options.at("sigma"), options.where("sigma"), 0, 1);
    parsed.seed = static_cast<std::uint64_t>(options.integer("seed", 1, 0));
  }
  size_t begin = 0;
  while (begin < stragglers.size()) {
    const size_t comma = std::min(stragglers.find(',', begin), stragglers.size());
    const std::string item = stragglers.substr(begin, comma - begin);
    begin = comma + 1;
    const size_t colon = item.find(':');
    if (colon == std::string::npos)
      throw InputError({.source = "--straggler",
                        .path = "",
                        .value = item,
                        .constraint = "must have the form rank:factor, such as 3:1.5"});
    constexpr double kLeast = 0.01;
    constexpr double kMost = 1000;
    const double factor = parse_between(item.substr(colon + 1), "--straggler", kLeast, kMost);
    const auto rank = static_cast<int>(parse_integer(item.substr(0, colon), "--straggler"));
    if (!parsed.stragglers.emplace(rank, factor).second)
      throw InputError({.source = "--straggler",
                        .path = "",
                        .value = item,
                        .constraint = "names a rank for the second time"});
  }
  return parsed;
}

}  // namespace forescale
