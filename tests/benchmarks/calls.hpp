// The calls that docs/performance.md speaks of.
#pragma once

#include <fmt/format.h>

#include "algorithms/collective.hpp"
#include "sim/run/session.hpp"
#include "topologies/platform.hpp"

namespace forescale::benchmarks {

inline constexpr std::int64_t kMiB = 1 << 20;

inline std::string star_of(std::int64_t hosts) {
  return fmt::format("star:hosts={},bandwidth=12.5GB/s,latency=1us", hosts);
}

struct BenchmarkCall {
  PlanChoice plan;
  std::int64_t bytes = 0;

  const Collective& collective() const { return *plan.collective; }
  CollectiveCall call(std::int64_t ranks) const {
    CollectiveCall made;
    made.rank_count = static_cast<int>(ranks);
    made.bytes = bytes;
    made.options = plan.options;
    return made;
  }
};

// 100 MiB, the gradients of a large convolutional network.
inline BenchmarkCall ring() {
  return {.plan = parse_plan("all-reduce/ring", "benchmark"), .bytes = 100 * kMiB};
}

// CB-8, 64 chunks of 4 MiB.
inline BenchmarkCall cb8() {
  return {.plan = parse_plan("reduce/cb:chain_size=8,chunk_bytes=4MiB", "benchmark"),
          .bytes = 256 * kMiB};
}

inline BenchmarkCall binomial() {
  return {.plan = parse_plan("reduce/binomial", "benchmark"), .bytes = 256 * kMiB};
}

}  // namespace forescale::benchmarks
