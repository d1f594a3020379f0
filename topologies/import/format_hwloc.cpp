// hwloc's XML (lstopo machine.xml), versions 1 and 2, read by libhwloc.
//
// A CPU for each package; below it the bridges that lead to a GPU or an adapter. hwloc lists every
// port of a PCIe switch as a bridge: those with one thing behind them are left out. A link's speed
// is that of the device below it. NVLinks and the speeds of adapters are not in it.
//
// libhwloc 2.9 itself ends with a signal on some damaged files (a NUMA node without
// complete_nodeset), so a child process reads the file first.
#include <fcntl.h>
#include <fmt/format.h>
#include <hwloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "topologies/import/known_hardware.hpp"
#include "topologies/import/link_classes.hpp"
#include "topologies/import/platform_format.hpp"

namespace forescale {
namespace {

constexpr int kBridgesMax = 32;  // on the way to a device
constexpr size_t kHwlocDevicesMax = 1024;
constexpr unsigned kNvidia = 0x10de;
constexpr unsigned kAmazon = 0x1d0f;

using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

struct PciBranch {
  std::string name;  // busid
  DeviceKind kind = DeviceKind::kPcieSwitch;
  std::string pcie = {};
  bool is_elastic_fabric = false;
  bool is_fabric = false;  // an adapter that OpenFabrics knows
  std::string gpu = {};
  std::vector<PciBranch> below = {};
};

class MachineReader {
 public:
  MachineReader(const PlatformInput& input, const PlatformChoices& choices, PlatformDraft& draft)
      : input_(input), choices_(choices), draft_(draft), node_{.file = input.name()} {}

  void load();
  void read();  // after load()

 private:
  void read_cpus();
  std::vector<PciBranch> branches(hwloc_obj_t parent, int depth);
  std::vector<PciBranch> branch_of(hwloc_obj_t object, int depth);
  int socket_of(hwloc_obj_t object) const;
  void choose_adapters(std::vector<std::vector<PciBranch>>& of_socket);
  void place(const std::vector<PciBranch>& list, const std::string& parent, int socket);
  std::string info(hwloc_obj_t object, const char* name) const;

  struct Destroy {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
  };
  const PlatformInput& input_;
  const PlatformChoices& choices_;
  PlatformDraft& draft_;
  DraftNode node_;
  std::unique_ptr<hwloc_topology, Destroy> topology_;
  size_t devices_ = 0;
  int switches_ = 0;
  int gpus_ = 0;
  int adapters_ = 0;
  bool has_elastic_fabric_ = false;
};

// Of an enumeration that libhwloc fills with whatever number the file has.
template <class Enumeration>
int as_number(const Enumeration& value) {
  int number = 0;
  static_assert(sizeof number == sizeof value);
  std::memcpy(&number, &value, sizeof number);
  return number;
}

std::string bus_id(const PciAttributes& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", static_cast<unsigned>(pci.domain),
                     static_cast<unsigned>(pci.bus), static_cast<unsigned>(pci.dev),
                     static_cast<unsigned>(pci.func));
}

std::string MachineReader::info(hwloc_obj_t object, const char* name) const {
  const char* value = hwloc_obj_get_info_by_name(object, name);
  return value == nullptr ? "" : value;
}

void MachineReader::load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) refuse(input_.file, "", "libhwloc cannot be set up");
  topology_.reset(raw);
  if (hwloc_topology_set_xmlbuffer(raw, input_.text.c_str(),
                                   static_cast<int>(input_.text.size()) + 1) != 0 ||
      hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 ||
      hwloc_topology_load(raw) != 0)
    refuse(input_.file, "", "is no XML that libhwloc reads");
}

void MachineReader::read_cpus() {
  const int packages = std::max(hwloc_get_nbobjs_by_type(topology_.get(), HWLOC_OBJ_PACKAGE), 1);
  for (int i = 0; i < packages; ++i) {
    node_.devices.push_back({.name = fmt::format("cpu{}", i),
                             .kind = DeviceKind::kCpu,
                             .socket = i,
                             .source = fmt::format("{} Package {}", input_.name(), i)});
    hwloc_obj_t package =
        hwloc_get_obj_by_type(topology_.get(), HWLOC_OBJ_PACKAGE, static_cast<unsigned>(i));
    if (package == nullptr || !node_.cpu.empty()) continue;
    const std::vector<std::string> found =
        cpus_of_cpuid(info(package, "CPUVendor"), info(package, "CPUFamilyNumber"),
                      info(package, "CPUModelNumber"));
    if (found.empty()) continue;
    node_.cpu = found.front();
    draft_.assumed.push_back(fmt::format(
        "cpu: {}, one of the catalogue with the family and model of {} in {}; --cpu says another",
        node_.cpu, info(package, "CPUModel"), input_.name()));
  }
}

int MachineReader::socket_of(hwloc_obj_t object) const {
  while (object != nullptr && object->cpuset == nullptr) object = object->parent;
  if (object == nullptr) return 0;
  const int packages = hwloc_get_nbobjs_by_type(topology_.get(), HWLOC_OBJ_PACKAGE);
  for (int i = 0; i < packages; ++i) {
    hwloc_obj_t package =
        hwloc_get_obj_by_type(topology_.get(), HWLOC_OBJ_PACKAGE, static_cast<unsigned>(i));
    if (hwloc_bitmap_intersects(package->cpuset, object->cpuset) != 0) return i;
  }
  return 0;
}

std::vector<PciBranch> MachineReader::branches(hwloc_obj_t parent, int depth) {
  std::vector<PciBranch> list;
  if (depth > kBridgesMax)
    refuse(input_.file, "", fmt::format("has more than {} bridges to a device", kBridgesMax));
  for (hwloc_obj_t child = parent->io_first_child; child != nullptr; child = child->next_sibling)
    for (PciBranch& branch : branch_of(child, depth)) list.push_back(std::move(branch));
  return list;
}

// What is left of an object: itself, what hangs on it, or nothing.
std::vector<PciBranch> MachineReader::branch_of(hwloc_obj_t object, int depth) {
  if (object->type == HWLOC_OBJ_BRIDGE) {
    std::vector<PciBranch> below = branches(object, depth + 1);
    if (as_number(object->attr->bridge.upstream_type) != HWLOC_OBJ_BRIDGE_PCI || below.size() < 2)
      return below;
    const PciAttributes& pci = object->attr->bridge.upstream.pci;
    return {{.name = bus_id(pci),
             .pcie = pcie_class_of_bandwidth(draft_, pci.linkspeed * 1e9),
             .below = std::move(below)}};
  }
  if (object->type != HWLOC_OBJ_PCI_DEVICE) return {};
  const PciAttributes& pci = object->attr->pcidev;
  const unsigned kind = pci.class_id >> 8;
  constexpr unsigned kDisplay = 0x03;
  constexpr unsigned kNetwork = 0x02;
  PciBranch branch{.name = bus_id(pci),
                   .pcie = pcie_class_of_bandwidth(draft_, pci.linkspeed * 1e9)};
  if (kind == kDisplay && pci.vendor_id == kNvidia) {
    branch.kind = DeviceKind::kGpu;
    branch.gpu = gpu_of_pci_device(fmt::format("0x{:04x}", static_cast<unsigned>(pci.device_id)));
  } else if (kind == kNetwork) {
    branch.kind = DeviceKind::kNic;
    for (hwloc_obj_t child = object->io_first_child; child != nullptr; child = child->next_sibling)
      branch.is_fabric =
          branch.is_fabric || (child->type == HWLOC_OBJ_OS_DEVICE &&
                               as_number(child->attr->osdev.type) == HWLOC_OBJ_OSDEV_OPENFABRICS);
    branch.is_elastic_fabric = branch.is_fabric && pci.vendor_id == kAmazon;
  } else {
    return {};
  }
  if (++devices_ > kHwlocDevicesMax)
    refuse(input_.file, "", fmt::format("has more than {} GPUs and adapters", kHwlocDevicesMax));
  return {branch};
}

bool any_of_branches(const std::vector<PciBranch>& list,
                     const std::function<bool(const PciBranch&)>& is) {
  return std::any_of(list.begin(), list.end(), [&](const PciBranch& branch) {
    return is(branch) || any_of_branches(branch.below, is);
  });
}

// Without the adapters of `drop`, and without switches that have one thing left below.
void prune(std::vector<PciBranch>& list, const std::function<bool(const PciBranch&)>& drop,
           int& dropped) {
  std::vector<PciBranch> kept;
  for (PciBranch& branch : list) {
    if (branch.kind == DeviceKind::kNic && drop(branch)) {
      ++dropped;
      continue;
    }
    if (branch.kind != DeviceKind::kPcieSwitch) {
      kept.push_back(std::move(branch));
      continue;
    }
    prune(branch.below, drop, dropped);
    if (branch.below.size() == 1)
      kept.push_back(PciBranch(std::move(branch.below.front())));
    else if (!branch.below.empty())
      kept.push_back(std::move(branch));
  }
  list = std::move(kept);
}

void MachineReader::place(const std::vector<PciBranch>& list, const std::string& parent,
                          int socket) {
  for (const PciBranch& branch : list) {
    const std::string name = branch.kind == DeviceKind::kGpu ? fmt::format("gpu{}", gpus_++)
                             : branch.kind == DeviceKind::kNic
                                 ? fmt::format("nic{}", adapters_++)
                                 : fmt::format("switch{}", switches_++);
    const std::string source = fmt::format("{} {}", input_.name(), branch.name);
    node_.devices.push_back(
        {.name = name, .kind = branch.kind, .socket = socket, .source = source});
    node_.links.push_back(
        {.from = parent, .to = name, .link_class = branch.pcie, .source = source});
    has_elastic_fabric_ = has_elastic_fabric_ || branch.is_elastic_fabric;
    if (!branch.gpu.empty()) {
      if (!node_.gpu.empty() && node_.gpu != branch.gpu)
        refuse(input_.file, branch.name,
               fmt::format("is a {}, but other GPUs are {}", branch.gpu, node_.gpu));
      if (node_.gpu.empty()) draft_.sources.push_back("gpu: " + source);
      node_.gpu = branch.gpu;
    }
    place(branch.below, name, socket);
  }
}

// Those on a switch with a GPU where there are some; of these, and else of all, those that
// OpenFabrics knows where it knows some.
void MachineReader::choose_adapters(std::vector<std::vector<PciBranch>>& of_socket) {
  const auto any = [&](const std::function<bool(const PciBranch&)>& is) {
    return std::any_of(of_socket.begin(), of_socket.end(),
                       [&](const auto& list) { return any_of_branches(list, is); });
  };
  const bool has_fabric = any([](const PciBranch& branch) { return branch.is_fabric; });
  // Switches with a GPU and an adapter of the fabric below.
  const auto is_gpu = [](const PciBranch& branch) { return branch.kind == DeviceKind::kGpu; };
  const auto is_wanted = [&](const PciBranch& branch) {
    return branch.kind == DeviceKind::kNic && (branch.is_fabric || !has_fabric);
  };
  std::vector<std::string> beside;
  const std::function<void(const std::vector<PciBranch>&)> find_beside =
      [&](const std::vector<PciBranch>& list) {
        for (const PciBranch& branch : list) {
          if (branch.kind == DeviceKind::kPcieSwitch && any_of_branches(branch.below, is_gpu))
            any_of_branches(branch.below, [&](const PciBranch& each) {
              if (is_wanted(each)) beside.push_back(each.name);
              return false;
            });
          else
            find_beside(branch.below);
        }
      };
  for (const auto& list : of_socket) find_beside(list);
  int dropped = 0;
  for (auto& list : of_socket)
    prune(
        list,
        [&](const PciBranch& branch) {
          if (beside.empty()) return !is_wanted(branch);
          return std::find(beside.begin(), beside.end(), branch.name) == beside.end();
        },
        dropped);
  if (dropped > 0)
    draft_.assumed.push_back(fmt::format(
        "{} network adapters of {} left out: the fabric is that of {}", dropped, input_.name(),
        beside.empty() ? "those that OpenFabrics knows" : "adapters on a PCIe switch with a GPU"));
}

void MachineReader::read() {
  read_cpus();
  std::vector<std::vector<PciBranch>> of_socket(node_.devices.size());
  // I/O hangs on the machine, a group, a package or a NUMA node.
  for (hwloc_obj_t bridge = nullptr;
       (bridge = hwloc_get_next_bridge(topology_.get(), bridge)) != nullptr;)
    if (as_number(bridge->attr->bridge.upstream_type) == HWLOC_OBJ_BRIDGE_HOST)
      for (PciBranch& branch : branch_of(bridge, 0))
        of_socket[static_cast<size_t>(socket_of(bridge))].push_back(std::move(branch));
  choose_adapters(of_socket);
  for (size_t i = 0; i < of_socket.size(); ++i)
    place(of_socket[i], fmt::format("cpu{}", i), static_cast<int>(i));
  if (gpus_ == 0) {
    node_.devices = {{.name = "host", .kind = DeviceKind::kHost}};
    node_.links.clear();
    draft_.assumed.push_back("a bare host: " + input_.name() + " shows no GPU of NVIDIA");
  }
  if (has_elastic_fabric_ && choices_.link.empty())
    refuse("--link", "",
           fmt::format("is needed: {} does not say how fast its Elastic Fabric Adapters are "
                       "(efa-100g, efa-400g)",
                       input_.file));
  draft_.set_node(std::move(node_));
}

// Reads in a child, which does not talk; what is wrong with the file's content is the parent's to
// say.
void check_survival(const PlatformInput& input, const PlatformChoices& choices) {
  const pid_t child = fork();
  if (child < 0) refuse(input.file, "", "cannot be read: no process for it");
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    PlatformDraft draft;
    MachineReader reader(input, choices, draft);
    try {
      reader.load();
    } catch (const InputError&) {
      _exit(1);
    }
    try {
      reader.read();
    } catch (const InputError&) {
    }
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    refuse(input.file, "", "is no XML that libhwloc reads: is it cut off or damaged?");
}

void import_hwloc(const PlatformInput& input, const PlatformChoices& choices,
                  PlatformDraft& draft) {
  check_survival(input, choices);
  MachineReader reader(input, choices, draft);
  reader.load();
  reader.read();
}

bool is_hwloc(const std::string& text) {
  const size_t topology = text.find("<topology");
  return topology != std::string::npos && topology < 4096 &&
         (text.find("hwloc") != std::string::npos || text.find("<object") != std::string::npos);
}

const bool kHwlocRegistered = Registry<PlatformFormat>::add(
    {.name = "hwloc",
     .description = "hwloc's XML (lstopo machine.xml), versions 1 and 2",
     .detects = is_hwloc,
     .import = import_hwloc});

}  // namespace
}  // namespace forescale
