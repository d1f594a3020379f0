// What a collective does on a rank's own hardware: adding received bytes, copies inside the GPU,
// and whole-buffer copies between GPU and host. One of each kind at a time.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/engine/machine.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {

class LocalWork {
 public:
  struct Settings {
    int rank = 0;  // in the world
    BufferPlace place = BufferPlace::kGpu;
    double through_host_bandwidth = 0;  // of whole-buffer copies; 0: as fast as the hardware
    Timeline* timeline = nullptr;
    int label = 0;
  };
  LocalWork(Machine& machine, Settings settings) : machine_(machine), settings_(settings) {}
  LocalWork(const LocalWork&) = delete;
  LocalWork& operator=(const LocalWork&) = delete;

  const ReductionRule& reduction() const { return machine_.lanes().reduction(settings_.place); }
  // By the stack's rule; at once when reductions are free.
  void reduce(std::int64_t bytes, std::function<void()> done);
  // Inside the GPU's memory; costs nothing where reductions do not run on the GPU.
  void copy_locally(std::int64_t bytes, std::function<void()> done);
  void copy_to_host(std::int64_t bytes, std::function<void()> done);
  void copy_from_host(std::int64_t bytes, std::function<void()> done);

 private:
  void run_reduction(std::int64_t bytes, std::function<void()> done);
  using PathOfRank = const Machine::Path& (Machine::*)(int rank);
  void copy_whole(PathOfRank path_of, std::int64_t bytes, std::function<void()> done);
  void record(Track track, double begin_s, std::int64_t bytes);
  World& world() { return machine_.world(); }

  Machine& machine_;
  Settings settings_;
  Continuation reducing_;
  Continuation copying_;
};

}  // namespace forescale
