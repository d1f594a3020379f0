// What options for noise take: a made-up spread, or measured times, and a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forescale {

struct NoiseText {
  double sigma = 0;  // from 0 to 1
  // Of the same work, in any unit; empty: sigma counts.
  std::vector<double> times = {};
  std::uint64_t seed = 1;
};

// "sigma=0.05,seed=7" or "file=times.csv,seed=7"; the file holds a time a line below a heading if
// there is one, ten at least, or is a CSV file with them in its first column. InputError naming
// `source`, or file and line.
NoiseText parse_noise_text(const std::string& text, const std::string& source);

}  // namespace forescale
