// Seeded variation of what messages take: overheads, latencies and bytes on the way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forescale {

struct MessageNoise {
  double sigma = 0;  // standard deviation of the logarithm of a message's time; median factor 1
  std::vector<double> measured = {};  // single messages' times over their median
  std::uint64_t seed = 1;

  bool varies() const { return sigma > 0 || !measured.empty(); }
  // On all that the `number`-th message of a rank takes; the same on every machine.
  double factor(int source, std::uint64_t number) const;
};

// What --message-noise takes: "sigma=0.1,seed=7", sigma from 0 to 1, or "file=times.csv,seed=7"
// (base/noise_text.hpp). Factors have a median of 1, as what is fitted are medians. InputError.
MessageNoise parse_message_noise(const std::string& text, const std::string& source);

}  // namespace forescale
