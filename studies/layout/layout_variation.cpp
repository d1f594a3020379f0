#include "studies/layout/layout_variation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "topologies/link_faults.hpp"

namespace forescale {

std::vector<CopyRanks> pipeline_copies(const RankGrid& grid, const IterationWork& work) {
  std::vector<LayoutGroup> waiting = {LayoutGroup::kTensor, LayoutGroup::kContext,
                                      LayoutGroup::kExpert};
  if (work.gathers_each_pass) waiting.push_back(LayoutGroup::kData);
  const auto pipeline_rank = [&](int rank) {
    return static_cast<size_t>(grid.place_of(rank)[static_cast<size_t>(Dimension::kPipeline)]);
  };
  std::vector<CopyRanks> copies;
  std::vector<bool> is_placed(static_cast<size_t>(grid.ranks()), false);
  for (int first = 0; first < static_cast<int>(grid.ranks()); ++first) {
    if (pipeline_rank(first) > 0 || is_placed[static_cast<size_t>(first)]) continue;
    std::vector<int> together;
    const auto place = [&](int rank) {
      if (is_placed[static_cast<size_t>(rank)]) return;
      is_placed[static_cast<size_t>(rank)] = true;
      together.push_back(rank);
    };
    place(first);
    for (size_t i = 0; i < together.size(); ++i)
      for (const LayoutGroup group : waiting)
        for (const int other : group_ranks(grid, group, together[i], work.nodes)) place(other);
    std::sort(together.begin(), together.end());
    CopyRanks copy(static_cast<size_t>(work.shape.ranks));
    for (const int rank : together)
      for (const int peer : grid.group(rank, {Dimension::kPipeline}))
        copy[pipeline_rank(peer)].push_back(peer);
    copies.push_back(std::move(copy));
  }
  return copies;
}

ComputeNoise layout_noise(const Question& question, std::int64_t gpus) {
  ComputeNoise noise = parse_noise(question.noise, question.stragglers);
  if (noise.sigma > 0)
    refuse("--noise", question.noise,
           "draws every kernel, where --layout knows passes: give measured times of iterations, "
           "file=steps.csv");
  for (const auto& [rank, factor] : noise.stragglers)
    if (rank < 0 || rank >= gpus)
      refuse("--straggler", std::to_string(rank), fmt::format("must be a rank below {}", gpus));
  for (const auto& [link, fault] : question.links)
    if (parse_link_fault(fault, "--link").kind != LinkFault::Kind::kSlow)
      refuse("--link", fmt::format("{}={}", link, fault),
             "must be a share of the bandwidth with --layout, whose groups are simulated alone: "
             "where an adapter takes over for another, 0.5 of both");
  return noise;
}

double slowness(const ComputeNoise& noise, const std::vector<int>& ranks, std::uint64_t iteration) {
  double slowest = 0;
  for (const int rank : ranks) slowest = std::max(slowest, noise.factor(rank, 0, iteration));
  return slowest;
}

bool SlowLinks::concern(const std::vector<int>& slots) {
  const auto [known, is_new] = known_.try_emplace(slots, false);
  if (is_new)
    for (size_t i = 0; i < slots.size() && !known->second; ++i)
      for (size_t j = 0; j < slots.size() && !known->second; ++j)
        known->second = i != j && concern(slots[i], slots[j]);
  return known->second;
}

bool SlowLinks::concern(int from, int to) const {
  const auto device = [&](int slot) { return slow_.endpoints[static_cast<size_t>(slot)]; };
  const std::vector<Capacity> crossed = slow_.route(device(from), device(to)).capacities;
  return std::any_of(crossed.begin(), crossed.end(), [&](Capacity capacity) {
    return slow_.bandwidth(capacity).value != healthy_.bandwidth(capacity).value;
  });
}

}  // namespace forescale
