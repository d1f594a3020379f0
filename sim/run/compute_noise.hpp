// Seeded variation of compute times: noise of every kernel, and ranks that are always slow.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace forescale {

struct ComputeNoise {
  double sigma = 0;  // standard deviation of the logarithm of a kernel's duration; mean factor 1
  std::uint64_t seed = 1;
  std::map<int, double> stragglers;  // rank -> factor on all its kernels

  bool none() const { return sigma == 0 && stragglers.empty(); }
  // Factor on the duration of a rank's `number`-th kernel; the same on every machine.
  double factor(int rank, std::uint64_t number) const;
};

// What --noise takes: "sigma=0.05,seed=7" and --straggler: "3:1.5" (rank 3 takes 1.5 times as
// long), several separated by commas. Sigma from 0 to 1,
// factors from 0.01 to 1000. InputError.
ComputeNoise parse_noise(const std::string& noise, const std::string& stragglers);

}  // namespace forescale
