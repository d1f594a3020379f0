#include "sim/engine/message_noise.hpp"

#include <cmath>
#include <utility>

#include "base/median.hpp"
#include "base/noise_text.hpp"
#include "base/seeded_random.hpp"

namespace forescale {

double MessageNoise::factor(int source, std::uint64_t number) const {
  const std::uint64_t key = mixed(mixed(seed + static_cast<std::uint64_t>(source)) + number);
  if (!measured.empty()) return measured[key % measured.size()];
  return std::exp(sigma * seeded_normal(key));
}

MessageNoise parse_message_noise(const std::string& text, const std::string& source) {
  if (text.empty()) return {};
  NoiseText read = parse_noise_text(text, source);
  const double middle = median(read.times);
  for (double& time : read.times) time /= middle;
  return {.sigma = read.sigma, .measured = std::move(read.times), .seed = read.seed};
}

}  // namespace forescale
