// Classes of links by what inputs say of them: the catalogue's where it has one, else one made from
// it in proportion to lanes, links or speed, which is put into the draft as assumed.
#pragma once

#include <string>

#include "topologies/import/platform_draft.hpp"

namespace forescale {

// Empty where the speed is not that of a PCIe generation. `giga_transfers`: 32 of "32.0 GT/s".
std::string pcie_class(PlatformDraft& draft, double giga_transfers, int lanes);
// PCIe by its raw bandwidth of all lanes, as hwloc has it.
std::string pcie_class_of_bandwidth(PlatformDraft& draft, double bytes_per_s);

// What all lanes of "pcie5-x16" carry before headers, bytes/s; 0: no such name.
double pcie_bandwidth(const std::string& name);

// So many NVLinks of a generation taken together.
std::string nvlink_class(PlatformDraft& draft, int generation, int count);

enum class AdapterKind { kInfiniBand, kEthernet, kElasticFabric };
std::string adapter_class(PlatformDraft& draft, AdapterKind kind, double gigabits_per_s);

}  // namespace forescale
