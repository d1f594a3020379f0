// What the driver's management library says of a GPU: versions, clocks, who else uses it.
//
// libnvidia-ml.so.1 comes with the driver and is opened while running, so that nothing of it is
// needed to build; without it there are fewer facts and no warnings.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace forescale {

class Nvml {
 public:
  // `pci_bus_id` as cudaDeviceGetPCIBusId() gives it.
  explicit Nvml(const std::string& pci_bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // "driver", "ecc", "clock_mhz" (now), "memory_clock_mhz", "clock_mhz_max", "power_limit_w".
  std::map<std::string, std::string> facts() const;
  // Other processes on the GPU, and load before there is any of ours.
  std::vector<std::string> warnings_before() const;
  // Why the clock is below what it could be: heat, power.
  std::vector<std::string> warnings_after() const;

 private:
  template <class Function>
  Function* function(const char* name) const;
  std::string number(const char* name, unsigned which) const;

  void* library_ = nullptr;
  void* device_ = nullptr;  // nvmlDevice_t
};

}  // namespace forescale
