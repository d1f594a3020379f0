// Hardware as data: what a GPU, a CPU and a class of links can do. Files in models/hardware/.
#pragma once

#include <optional>
#include <string>

#include "base/json_input.hpp"
#include "base/units.hpp"

namespace forescale {

struct GpuModel {
  std::string name;
  Bytes memory;
  BytesPerSecond memory_bandwidth;  // what a copy kernel reaches, read + write counted
  FlopsPerSecond peak_flops;        // FP32
  Seconds kernel_launch;            // from the call until a kernel starts
  Seconds synchronize;              // from a kernel's end until the host knows
  BytesPerSecond host_copy;         // pinned host <-> device copy, one direction
  std::string file = {};            // that it was read from
  // Of models/hardware/gpu_models/: its kernels, or those of a GPU of the same kind; empty: none.
  std::string fitted = {};
  // Time of BF16 and FP16 products on other machines with this GPU over that model's.
  double products_elsewhere = 1;
  // Standard deviation of the times of GPUs of this kind over their mean, where it was measured.
  std::optional<double> variation = {};
};

struct CpuModel {
  std::string name;
  int cores = 1;                    // of one socket
  BytesPerSecond memory_bandwidth;  // of one socket, read + write counted
  BytesPerSecond reduce_per_core;   // payload bytes of a += b that one core adds each second
  BytesPerSecond copy_per_core;     // payload bytes that one core copies each second
};

// One class of links, bandwidth of one direction after protocol overhead.
struct LinkClass {
  std::string name;
  BytesPerSecond bandwidth;
  Seconds latency;
  bool full_duplex = true;  // false: both directions share the bandwidth
  // Token-bucket shapers (virtual machines, tc): what passes at once after as much idling as the
  // bandwidth needs for it; 0: none.
  Bytes burst = {};
};

// From models/hardware/{gpus,cpus,links}/NAME.json or a path; `option` names where NAME was said.
GpuModel load_gpu(const std::string& name, const std::string& option, Provenance* provenance);
CpuModel load_cpu(const std::string& name, const std::string& option, Provenance* provenance);
LinkClass load_link(const std::string& name, const std::string& option, Provenance* provenance);

// Something else took the place of the number `key` of the GPU's file: nothing rests on it any
// more.
void forget(Provenance* provenance, const GpuModel& gpu, const std::string& key);

// The same objects written inside another file (a platform's own link_classes).
LinkClass read_link(const JsonInput& in, const std::string& name);

}  // namespace forescale
