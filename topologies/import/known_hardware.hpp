// Hardware of the catalogue by what inputs call it: keys of the files in models/hardware/ that only
// importers read.
//
//   gpus/:  "pci_devices": ["0x2330"]                    of vendor 0x10de (the PCI ID Repository)
//           "nvlinks": {"generation": 4, "count": 18}    of a GPU (its data sheet)
//           "reference_platform": "dgx-h100"             the preset that stands in for what is not
//           said
//   cpus/:  "cpuid": ["GenuineIntel-6-143"]              vendor, family and model
//           "socket_link": "upi-x3"                      to the other socket
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace forescale {

// The GPU of NVIDIA's PCI device; empty: none of the catalogue.
std::string gpu_of_pci_device(const std::string& device);
// All that have these; the catalogue's order.
std::vector<std::string> cpus_of_cpuid(const std::string& vendor, const std::string& family,
                                       const std::string& model);

struct NvlinkKind {
  int generation = 0;
  int count = 0;  // of a GPU
};
std::optional<NvlinkKind> nvlinks_of_gpu(const std::string& gpu);

// What a preset with the GPU says of what inputs often do not.
struct ReferencePlatform {
  std::string name;
  std::string nccl;  // each empty where it has none
  std::string cpu;
  std::string adapter_link;
  std::string pcie;  // of a GPU
  bool has_nvswitch = false;
  int gpus = 0;  // of a node; 0: not listed
  int adapters = 0;
  int cpus = 0;
};
std::optional<ReferencePlatform> reference_of_gpu(const std::string& gpu);

std::string socket_link_of_cpu(const std::string& cpu);

}  // namespace forescale
