// The machine of one simulation: the links, processors and ports of the ranks in use, made in a
// World from a platform and a stack. Ranks sit on the platform's slots in order unless placed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/lanes.hpp"
#include "sim/world.hpp"

namespace forescale {

class Machine {
 public:
  Machine(World& world, const Platform& platform, const Stack& stack, int rank_count);

  int rank_count() const { return rank_count_; }
  const Lanes& lanes() const { return lanes_; }
  World& world() { return world_; }

  // Links of a lane in the World; kept for the machine's life.
  const std::vector<SimLink>& route(const Lane& lane, std::int64_t bytes);
  const std::vector<SimLink>& reduction_route(int rank);
  const std::vector<SimLink>& copy_out_route(int rank);
  const std::vector<SimLink>& copy_in_route(int rank);
  int gpu(int rank) const { return gpus_[static_cast<size_t>(rank)]; }
  SimLink link(const Resource& resource) const;

  // Adds to what a set of resources carried.
  void account(const std::vector<Resource>& resources, double bytes);
  void clear_accounts();
  // The resource busiest since clear_accounts(), by bytes over bandwidth.
  struct Busiest {
    std::string name;
    double busy_s = 0;
    double bytes = 0;
  };
  Busiest busiest() const;

 private:
  struct Carried {
    SimLink link = nullptr;
    double bytes = 0;
  };
  void add(const Resource& resource);
  std::vector<SimLink> links_of(const std::vector<Resource>& resources) const;
  const std::vector<SimLink>& cached(std::map<int, std::vector<SimLink>>& cache, int rank,
                                     const std::vector<Resource>& resources);

  World& world_;
  const Platform& platform_;
  Lanes lanes_;
  int rank_count_;
  std::map<Resource, Carried> resources_;
  std::vector<int> gpus_;
  std::unordered_map<const Lane*, std::vector<SimLink>> routes_;
  std::map<int, std::vector<SimLink>> reduction_routes_;
  std::map<int, std::vector<SimLink>> copy_out_routes_;
  std::map<int, std::vector<SimLink>> copy_in_routes_;
};

}  // namespace forescale
