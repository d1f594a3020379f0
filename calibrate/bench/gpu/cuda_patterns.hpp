// The patterns of a GPU (calibrate/measure/measurement.hpp says what the time of each means), one
// file a group. Each start_*() allocates on the current device; GpuTrouble where that fails.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/bench/gpu/gpu_bench.hpp"

namespace forescale {

// Keeps all of the GPU at work until its clock has risen from where it idles.
void warm_up_gpu();

// "launch" and "synchronize", by the host's clock.
std::unique_ptr<Repeatable> start_launch(const std::string& pattern);

// Copies between host and device or on the device, and "fill". Null for other patterns.
std::unique_ptr<Repeatable> start_copy(const std::string& pattern, std::size_t bytes);

// a += b. Its result is compared with the CPU's sum first; a wrong one is a fault. With
// `beside_kernel` in a stream of high priority while a compute kernel fills the GPU.
std::unique_ptr<Repeatable> start_reduction(std::size_t bytes, bool beside_kernel);
// The same comparison for numbers of values that are no multiple of anything.
void check_odd_reductions();

// Between two GPUs, by the second's memory; through the host where they have no access to each
// other.
std::unique_ptr<Repeatable> start_peer_copy(int from, int to, std::size_t bytes);

// NCCL's all-reduces, all devices in this process, by the host's clock as nccl-tests has it.
class AllReduces {
 public:
  AllReduces() = default;
  virtual ~AllReduces() = default;
  AllReduces(const AllReduces&) = delete;
  AllReduces& operator=(const AllReduces&) = delete;
  virtual std::unique_ptr<Repeatable> start(const std::vector<int>& devices, std::size_t bytes) = 0;
};
// Null where this program was built without NCCL.
std::unique_ptr<AllReduces> nccl_all_reduces();

}  // namespace forescale
