// The machine of one simulation: links, processors and ports, made in a World from a platform and a
// stack when something first uses them. Ranks sit on the platform's slots in order unless placed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/engine/alike_members.hpp"
#include "sim/engine/lanes.hpp"
#include "sim/engine/world.hpp"
#include "traces/timeline/link_use.hpp"

namespace forescale {

// The tokens of a shaped link.
struct Bucket {
  double burst_bytes = 0;
  double rate_bytes_per_s = 0;
  double tokens = 0;  // at `since_s`, growing from then on while no flow is under way
  double since_s = 0;
  int flows = 0;
};

class Machine {
 public:
  // `alike`, if it is not null, lives as long: some members of the only call stand for all.
  Machine(World& world, const Platform& platform, const Stack& stack, int rank_count,
          const AlikeMembers* alike = nullptr);

  const AlikeMembers* alike() const { return alike_; }
  // The rank whose ports, proxy thread and timeline are this one's too.
  int stands_for(int rank) const {
    return alike_ == nullptr ? rank : alike_->ranks[static_cast<size_t>(rank)];
  }
  int rank_count() const { return rank_count_; }
  const Lanes& lanes() const { return lanes_; }
  World& world() const { return world_; }

  // What a flow crosses, in the World; kept for the machine's life.
  struct Path {
    std::vector<SimLink> links;
    std::vector<double*> carried;  // bytes, by link
    std::vector<Bucket*> buckets;  // of those that have one
    std::vector<double*> at_once;  // by link, what shapers let pass; none without buckets
    mutable double accounted = 0;  // bytes that its links carry and that are not added up yet
    void account(double bytes) const { accounted += bytes; }
  };
  // Any others, whose bytes nobody adds up: what never limits is left out.
  Path path_of(std::vector<Resource> resources, int channel = 0);
  const Path& path(const Lane& lane, int channel);
  // One path a stage of a staged lane.
  const std::vector<Path>& stage_paths(const Lane& lane);
  const Path& reduction_path(int rank);
  const Path& copy_out_path(int rank);
  const Path& copy_in_path(int rank);
  const Path& host_memory_path(int rank);
  // A flow of `bytes` enters: what of them the shapers on the way let pass at once, because all of
  // them had been idle. leave() when the flow is over. While a flow is under way its links gain no
  // tokens, though one that is slower elsewhere would leave them some.
  double enter(const Path& path, double bytes);
  void leave(const Path& path);
  // What the overheads of all ranks run on where hosts share cores; -1: each rank has its own.
  int shared_cores() const { return shared_cores_; }
  int gpu(int rank);
  SimLink link(const Resource& resource);
  std::size_t links_made() const { return resources_.size(); }

  // Writes down the use of all links, from now on; both live as long as the simulation.
  void watch(LinkUse& use);

  // The busiest resource so far, by bytes over bandwidth; bytes that shapers let pass at once took
  // no time of it.
  struct Busiest {
    std::string name;
    double busy_s = 0;
    double bytes = 0;
  };
  Busiest busiest() const;

 private:
  struct Carried {
    SimLink link = nullptr;
    double bandwidth_bytes_per_s = 0;
    double bytes = 0;
    double at_once = 0;  // of those
    std::unique_ptr<Bucket> bucket = nullptr;
  };
  bool limits(const Resource& resource) const;
  void add_up() const;  // what paths have accounted
  AlikeMembers::Standing standing_for(const Resource& resource) const;
  Carried* carried(const Resource& resource);  // null: never limits

  World& world_;
  Lanes lanes_;
  int rank_count_;
  const AlikeMembers* alike_;
  std::map<Resource, Carried> resources_;
  std::map<SimLink, Resource> resource_of_;
  static constexpr int kNotMade = -1;
  std::vector<int> gpus_;
  int shared_cores_ = -1;
  std::vector<std::vector<std::unique_ptr<Path>>> lane_paths_;  // by lane id and channel
  std::map<int, std::vector<Path>> stage_paths_;                // by lane id
  std::map<int, Path> reduction_paths_;                         // by rank
  std::map<int, Path> copy_out_paths_;
  std::map<int, Path> copy_in_paths_;
  std::map<int, Path> host_memory_paths_;
};

}  // namespace forescale
