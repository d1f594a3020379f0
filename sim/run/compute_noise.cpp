#include "sim/run/compute_noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/noise_text.hpp"
#include "base/seeded_random.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

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

double ComputeNoise::factor(int rank, std::uint64_t number, std::uint64_t iteration) const {
  double factor = 1;
  const std::uint64_t of_rank = mixed(seed + static_cast<std::uint64_t>(rank));
  if (sigma > 0)
    factor = std::exp(sigma * seeded_normal(mixed(of_rank + number)) - sigma * sigma / 2);
  if (!measured.empty()) factor *= measured[mixed(of_rank + iteration) % measured.size()];
  return factor * slowness(rank);
}

double ComputeNoise::slowness(int rank) const {
  const auto straggler = stragglers.find(rank);
  return straggler == stragglers.end() ? 1 : straggler->second;
}

ComputeNoise parse_noise(const std::string& noise, const std::string& stragglers) {
  ComputeNoise parsed;
  if (!noise.empty()) {
    NoiseText read = parse_noise_text(noise, "--noise");
    const double mean = std::accumulate(read.times.begin(), read.times.end(), 0.0) /
                        static_cast<double>(read.times.size());
    for (double& time : read.times) time /= mean;
    parsed.sigma = read.sigma;
    parsed.measured = std::move(read.times);
    parsed.seed = read.seed;
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
