#include "sim/engine/message_noise.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/measured_times.hpp"
#include "base/median.hpp"
#include "base/options_text.hpp"
#include "base/seeded_random.hpp"

namespace forescale {

double MessageNoise::factor(int source, std::uint64_t number) const {
  const std::uint64_t key = mixed(mixed(seed + static_cast<std::uint64_t>(source)) + number);
  if (!measured.empty()) return measured[key % measured.size()];
  return std::exp(sigma * seeded_normal(key));
}

MessageNoise parse_message_noise(const std::string& text, const std::string& source) {
  MessageNoise noise;
  if (text.empty()) return noise;
  const OptionsText options = OptionsText::parse("noise:" + text, source);
  options.allow_only({"sigma", "file", "seed"});
  noise.seed = static_cast<std::uint64_t>(options.integer("seed", 1, 0));
  const auto refuse = [&](const char* key, const char* constraint) {
    throw InputError({.source = options.where(key),
                      .path = "",
                      .value = options.at(key),
                      .constraint = constraint});
  };
  if (options.find("file")) {
    if (options.find("sigma")) refuse("file", "is given beside sigma");
    noise.measured = read_measured_times(options.at("file"));
    const double middle = forescale::median(noise.measured);
    for (double& time : noise.measured) time /= middle;
    return noise;
  }
  const std::string sigma = options.at("sigma");
  char* end = nullptr;
  noise.sigma = std::strtod(sigma.c_str(), &end);
  if (*end != '\0' || !(noise.sigma >= 0 && noise.sigma <= 1))
    refuse("sigma", "must be a number from 0 to 1");
  return noise;
}

}  // namespace forescale
