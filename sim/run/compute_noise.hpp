// Seeded variation of compute times: noise of every kernel or iteration, and ranks that are always
// slow.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace forescale {

struct ComputeNoise {
  double sigma = 0;  // standard deviation of the logarithm of a kernel's duration; mean factor 1
  // Measured iterations' times over their mean: one is drawn for all kernels of a rank's iteration.
  std::vector<double> measured = {};
  std::uint64_t seed = 1;
  std::map<int, double> stragglers = {};  // rank -> factor on all its kernels

  bool varies() const { return sigma > 0 || !measured.empty(); }
  bool none() const { return !varies() && stragglers.empty(); }
  double slowness(int rank) const;  // 1 of one that is no straggler
  // Factor on the duration of a rank's `number`-th kernel, in its `iteration`-th iteration; the
  // same on every machine.
  double factor(int rank, std::uint64_t number, std::uint64_t iteration) const;
};

// What --noise takes: "sigma=0.05,seed=7", or "file=times.csv,seed=7" (base/noise_text.hpp);
// and
// --straggler: "3:1.5" (rank 3 takes 1.5 times as long), several separated by commas. Sigma from 0
// to 1, factors from 0.01 to 1000. InputError.
ComputeNoise parse_noise(const std::string& noise, const std::string& stragglers);

}  // namespace forescale
