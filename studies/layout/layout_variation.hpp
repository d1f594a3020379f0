// Layouts on machines that are not as they should be: which ranks wait for which in a pass, how
// slow the slowest of them is, and whose messages meet a slow link.
#pragma once

#include <map>
#include <vector>

#include "algorithms/layout/layout.hpp"
#include "sim/ask/question.hpp"
#include "sim/run/compute_noise.hpp"
#include "studies/layout/iteration_work.hpp"
#include "topologies/platform.hpp"

namespace forescale {

// Ranks that exchange something in every pass, tensor, context and expert groups and (ZeRO 3) those
// of the data, and what they pass to other stages: by pipeline rank. One copy of the model, or some
// whose experts they share. A pass takes as long as on the slowest of its ranks.
using CopyRanks = std::vector<std::vector<int>>;
std::vector<CopyRanks> pipeline_copies(const RankGrid& grid, const IterationWork& work);

// The question's noise and stragglers. InputError for noise of single kernels, which a layout's
// passes do not know, for a straggler that is none of the `gpus` ranks, and for links that are down
// or lost: what is left would be shared by groups that are simulated alone.
ComputeNoise layout_noise(const Question& question, std::int64_t gpus);

// The factor on the kernels of the slowest of these ranks.
double slowness(const ComputeNoise& noise, const std::vector<int>& ranks, std::uint64_t iteration);

// Which groups a platform's slow links are in the way of.
class SlowLinks {
 public:
  // The same platform with and without them; they outlive this.
  SlowLinks(const Platform& healthy, const Platform& slow) : healthy_(healthy), slow_(slow) {}
  // A message between two of these slots crosses one.
  bool concern(const std::vector<int>& slots);

 private:
  bool concern(int from, int to) const;

  const Platform& healthy_;
  const Platform& slow_;
  std::map<std::vector<int>, bool> known_;
};

}  // namespace forescale
