// NCCL's topology file (NCCL_TOPO_DUMP_FILE, and what clouds ship as NCCL_TOPO_FILE).
//
//   system > cpu > pci > (pci, gpu > nvlink, nic > net)
//
// A pci of class 0x0604 is a bridge; NVLinks go to other GPUs' bus ids, or to class 0x0680, the
// NVSwitches. A shipped file may lack gpu, nvlink and net: then the classes of the pci elements say
// what is there. NCCL (src/graph/topo.cc) takes a width of 0 for 16 lanes; so is it here.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <pugixml.hpp>

#include "base/error.hpp"
#include "topologies/import/known_hardware.hpp"
#include "topologies/import/link_classes.hpp"
#include "topologies/import/platform_format.hpp"

namespace forescale {
namespace {

constexpr int kDepthMax = 32;
constexpr size_t kDevicesOfNodeMax = 1024;

struct NcclAdapter {
  std::string name;
  std::string parent;
  std::string pcie;
  int socket = 0;
  int number = 0;       // NCCL's
  double gigabits = 0;  // 0: not said
  AdapterKind kind = AdapterKind::kInfiniBand;
  std::string source;
};

class NcclReader {
 public:
  NcclReader(const PlatformInput& input, PlatformDraft& draft)
      : input_(input), draft_(draft), node_{.file = input.name()} {}

  void read();

 private:
  void read_cpu(const pugi::xml_node& cpu);
  void read_cpu_model(const pugi::xml_node& cpu);
  void read_pci(const pugi::xml_node& pci, const std::string& parent, int depth);
  void read_gpu(const pugi::xml_node& pci, const std::string& parent);
  void read_nic(const pugi::xml_node& nic, const std::string& parent, const std::string& pcie,
                const std::string& pci_class);
  void add_link(const pugi::xml_node& pci, const std::string& parent, const std::string& name);
  std::string pcie_of(const pugi::xml_node& pci);
  void read_nvlinks();
  void mend_bridges();
  void place_adapters();
  void check_size(const pugi::xml_node& at) const;

  static size_t offset(const pugi::xml_node& at) {
    return static_cast<size_t>(std::max<std::ptrdiff_t>(at.offset_debug(), 0));
  }
  // For sources; for errors.
  std::string where(const pugi::xml_node& at) const { return input_.short_at(offset(at)); }
  std::string error_at(const pugi::xml_node& at) const { return input_.at(offset(at)); }
  std::string where(const pugi::xml_node& at, const char* attribute) const {
    return fmt::format("{} {}={}", where(at), attribute, at.attribute(attribute).value());
  }
  int number(const pugi::xml_node& at, const char* attribute, int fallback) const;

  const PlatformInput& input_;
  PlatformDraft& draft_;
  DraftNode node_;
  int socket_ = 0;
  int bridges_ = 0;
  bool has_gpu_elements_ = false;
  std::map<std::string, std::string> gpu_of_bus_;             // by bus id
  std::vector<std::pair<std::string, pugi::xml_node>> gpus_;  // name, its <gpu>
  std::vector<NcclAdapter> adapters_;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::pair<int, int> place(const DraftDevice& device) {
  if (device.kind == DeviceKind::kCpu) return {0, 0};
  if (device.kind != DeviceKind::kGpu) return {1, 0};
  return {2, std::stoi(device.name.substr(std::strlen("gpu")))};
}

int NcclReader::number(const pugi::xml_node& at, const char* attribute, int fallback) const {
  const std::string text = at.attribute(attribute).value();
  if (text.empty()) return fallback;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr int kMax = 100'000'000;
  if (error != std::errc() || end != text.data() + text.size() || value < -1 || value > kMax)
    throw InputError({.source = error_at(at),
                      .path = "",
                      .value = fmt::format("{}=\"{}\"", attribute, text),
                      .constraint = "must be a whole number"});
  return value;
}

void NcclReader::check_size(const pugi::xml_node& at) const {
  if (node_.devices.size() + adapters_.size() >= kDevicesOfNodeMax)
    refuse(error_at(at), "", fmt::format("must not be more than {} devices", kDevicesOfNodeMax));
}

// "32.0 GT/s PCIe" and 16 lanes. Empty: not said.
std::string NcclReader::pcie_of(const pugi::xml_node& pci) {
  const std::string speed = pci.attribute("link_speed").value();
  double giga_transfers = 0;
  if (std::from_chars(speed.data(), speed.data() + speed.size(), giga_transfers).ec != std::errc())
    return "";
  constexpr int kLanes = 16;
  const int lanes = number(pci, "link_width", 0);
  return pcie_class(draft_, giga_transfers, lanes <= 0 ? kLanes : lanes);
}

void NcclReader::add_link(const pugi::xml_node& pci, const std::string& parent,
                          const std::string& name) {
  node_.links.push_back({.from = parent,
                         .to = name,
                         .link_class = pcie_of(pci),
                         .source = fmt::format("{} link_width={}", where(pci, "link_speed"),
                                               pci.attribute("link_width").value())});
}

void NcclReader::read_cpu_model(const pugi::xml_node& cpu) {
  const std::vector<std::string> found =
      cpus_of_cpuid(cpu.attribute("vendor").value(), cpu.attribute("familyid").value(),
                    cpu.attribute("modelid").value());
  if (found.empty()) return;
  const std::string said =
      fmt::format("{} family {} model {}", where(cpu, "vendor"), cpu.attribute("familyid").value(),
                  cpu.attribute("modelid").value());
  if (node_.cpu.empty()) {
    draft_.sources.push_back(fmt::format("cpu: {}", said));
    draft_.assumed.push_back(
        fmt::format("cpu: {}, one of the catalogue with the family and model of {}; --cpu says "
                    "another",
                    found.front(), said));
  }
  node_.cpu = found.front();
}

void NcclReader::read_cpu(const pugi::xml_node& cpu) {
  check_size(cpu);
  const std::string name = fmt::format("cpu{}", socket_);
  node_.devices.push_back(
      {.name = name, .kind = DeviceKind::kCpu, .socket = socket_, .source = where(cpu, "numaid")});
  read_cpu_model(cpu);
  for (const pugi::xml_node& child : cpu.children()) {
    if (std::strcmp(child.name(), "pci") == 0) read_pci(child, name, 0);
    if (std::strcmp(child.name(), "nic") == 0) read_nic(child, name, "", "0x020000");
  }
  ++socket_;
}

void NcclReader::read_pci(const pugi::xml_node& pci, const std::string& parent, int depth) {
  check_size(pci);
  if (depth > kDepthMax)
    refuse(error_at(pci), "", fmt::format("must not be deeper than {} bridges", kDepthMax));
  const std::string pci_class = lower(pci.attribute("class").value());
  const auto is = [&](const char* begin) { return pci_class.starts_with(begin); };
  if (pci.child("gpu") || is("0x0302") || is("0x0300") || is("0x0380")) {
    read_gpu(pci, parent);
  } else if (pci.child("nic") || is("0x02")) {
    if (const pugi::xml_node nic = pci.child("nic")) {
      read_nic(nic, parent, pcie_of(pci), pci_class);
    } else {
      adapters_.push_back({.name = pci.attribute("busid").value(),
                           .parent = parent,
                           .pcie = pcie_of(pci),
                           .socket = socket_,
                           .number = static_cast<int>(adapters_.size()),
                           .source = where(pci, "class")});
    }
  } else if (is("0x0604") || pci.child("pci")) {
    const std::string name = fmt::format("switch{}", bridges_++);
    node_.devices.push_back({.name = name,
                             .kind = DeviceKind::kPcieSwitch,
                             .socket = socket_,
                             .source = where(pci, "busid")});
    add_link(pci, parent, name);
    for (const pugi::xml_node& child : pci.children("pci")) read_pci(child, name, depth + 1);
  }
}

void NcclReader::read_gpu(const pugi::xml_node& pci, const std::string& parent) {
  const pugi::xml_node gpu = pci.child("gpu");
  has_gpu_elements_ = has_gpu_elements_ || gpu;
  const int index = number(gpu, "dev", static_cast<int>(gpus_.size()));
  const std::string name = fmt::format("gpu{}", index);
  for (const auto& [other, element] : gpus_)
    if (other == name)
      refuse(error_at(pci), name, "must not be there twice (dev of a gpu element)");
  node_.devices.push_back(
      {.name = name, .kind = DeviceKind::kGpu, .socket = socket_, .source = where(pci, "busid")});
  add_link(pci, parent, name);
  gpu_of_bus_[lower(pci.attribute("busid").value())] = name;
  gpus_.emplace_back(name, gpu);
  if (const auto c2c = gpu.child("c2c")) {
    node_.links.back() = {.from = fmt::format("cpu{}", socket_),
                          .to = name,
                          .link_class = "nvlink-c2c",
                          .source = where(c2c, "bw")};
  }
  const std::string device = lower(pci.attribute("device").value());
  const std::string known = gpu_of_pci_device(device);
  if (known.empty()) return;
  if (!node_.gpu.empty() && node_.gpu != known)
    refuse(error_at(pci), known, "must be like the other GPUs of the node, which are " + node_.gpu);
  if (node_.gpu.empty()) draft_.sources.push_back("gpu: " + where(pci, "device"));
  node_.gpu = known;
}

void NcclReader::read_nic(const pugi::xml_node& nic, const std::string& parent,
                          const std::string& pcie, const std::string& pci_class) {
  NcclAdapter adapter{.name = "",
                      .parent = parent,
                      .pcie = pcie,
                      .socket = socket_,
                      .number = 0,
                      .source = where(nic)};
  const std::string vendor = lower(nic.parent().attribute("vendor").value());
  adapter.kind = vendor == "0x1d0f"                ? AdapterKind::kElasticFabric
                 : pci_class.starts_with("0x0207") ? AdapterKind::kInfiniBand
                                                   : AdapterKind::kEthernet;
  int ports = 0;
  for (const pugi::xml_node& net : nic.children("net")) {
    const double gigabits = number(net, "speed", 0) / 1e3;  // Mb/s
    if (gigabits > adapter.gigabits) {
      adapter.gigabits = gigabits;
      ports = 0;
    }
    ports += gigabits == adapter.gigabits ? 1 : 0;
    if (adapter.name.empty()) {
      adapter.name = net.attribute("name").value();
      adapter.number = number(net, "dev", 0);
      adapter.source = where(net, "speed");
    }
  }
  if (ports > 1) {
    adapter.gigabits *= ports;
    draft_.assumed.push_back(fmt::format("{}: {} ports taken together", adapter.name, ports));
  }
  // NCCL lists a socket's interface below every CPU.
  for (const NcclAdapter& other : adapters_)
    if (!adapter.name.empty() && other.name == adapter.name && pcie.empty()) return;
  adapters_.push_back(adapter);
}

void NcclReader::read_nvlinks() {
  node_.says_nvlinks = has_gpu_elements_;
  std::map<std::pair<std::string, std::string>, DraftNvlinks> between;
  int unseen = 0;
  for (const auto& [name, gpu] : gpus_)
    for (const pugi::xml_node& link : gpu.children("nvlink")) {
      const std::string target = lower(link.attribute("target").value());
      const std::string target_class = lower(link.attribute("tclass").value());
      const int count = number(link, "count", 1);
      if (count < 1) refuse(error_at(link), "count", "must be at least 1");
      const auto peer = gpu_of_bus_.find(target);
      std::string to = "nvswitch";
      if (target_class.starts_with("0x0302") || target_class.starts_with("0x0300")) {
        if (peer == gpu_of_bus_.end()) {
          ++unseen;
          continue;
        }
        to = peer->second;
      } else if (target_class.starts_with("0x0604")) {  // POWER: to its CPU
        for (const DraftDevice& device : node_.devices)
          if (device.name == name) to = fmt::format("cpu{}", device.socket);
      }
      DraftNvlinks& bundle = between[{name, to}];
      if (bundle.count == 0) bundle = {.from = name, .to = to, .count = 0, .source = where(link)};
      bundle.count += count;
    }
  if (unseen > 0)
    draft_.assumed.push_back(fmt::format("{} NVLinks to GPUs that {} does not list are left out",
                                         unseen, input_.name()));
  for (const auto& [ends, bundle] : between) {
    const auto back = between.find({ends.second, ends.first});
    if (back != between.end() && back->second.count != bundle.count)
      refuse(input_.file, bundle.source,
             fmt::format("NVLinks of {} to {}, but {} back ({})", ends.first, ends.second,
                         back->second.count, back->second.source));
    if (back == between.end() || ends.first < ends.second) node_.nvlinks.push_back(bundle);
  }
  if (node_.nvlinks.empty()) return;
  for (const auto& [name, gpu] : gpus_)
    if (!gpu.child("nvlink"))
      draft_.assumed.push_back(fmt::format(
          "{} has no NVLinks in {}, as the others do: is it in order?", name, where(gpu)));
}

// A virtual machine's bridge says 2.5 GT/s and one lane, whatever is behind it.
void NcclReader::mend_bridges() {
  constexpr const char* kVirtual = "pcie1-x1";
  int mended = 0;
  for (DraftLink& link : node_.links) {
    if (link.link_class != kVirtual) continue;
    for (const DraftLink& below : node_.links)
      if (below.from == link.to && below.link_class != kVirtual) {
        link.link_class = below.link_class;
        ++mended;
        break;
      }
  }
  if (mended > 0)
    draft_.assumed.push_back(
        fmt::format("{} PCIe bridges of {} at 2.5 GT/s with one lane are a virtual machine's: as "
                    "fast as what hangs on them",
                    mended, input_.name()));
}

// Those of the highest speed are the fabric's.
void NcclReader::place_adapters() {
  double fastest = 0;
  for (const NcclAdapter& adapter : adapters_) fastest = std::max(fastest, adapter.gigabits);
  std::stable_sort(adapters_.begin(), adapters_.end(),
                   [](const NcclAdapter& a, const NcclAdapter& b) { return a.number < b.number; });
  int placed = 0;
  for (const NcclAdapter& adapter : adapters_) {
    if (adapter.gigabits < fastest) {
      draft_.assumed.push_back(
          fmt::format("{} ({:g} Gbit/s) is left out: the fabric is that of "
                      "the fastest adapters",
                      adapter.source, adapter.gigabits));
      continue;
    }
    const std::string name = fmt::format("nic{}", placed++);
    node_.devices.push_back({.name = name,
                             .kind = DeviceKind::kNic,
                             .socket = adapter.socket,
                             .source = adapter.source});
    node_.links.push_back(
        {.from = adapter.parent, .to = name, .link_class = adapter.pcie, .source = adapter.source});
    if (fastest > 0) {
      const std::string link = adapter_class(draft_, adapter.kind, fastest);
      if (node_.adapter_link.empty())
        draft_.sources.push_back(fmt::format("link of an adapter: {}", adapter.source));
      node_.adapter_link = link;
    }
  }
}

void NcclReader::read() {
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(input_.text.data(), input_.text.size());
  if (!result)
    refuse(input_.at(static_cast<size_t>(std::max<std::ptrdiff_t>(result.offset, 0))), "",
           std::string("is no XML: ") + result.description());
  const pugi::xml_node system = document.child("system");
  if (!system.child("cpu")) refuse(input_.file, "", "must have cpu elements in its system element");
  for (const pugi::xml_node& cpu : system.children("cpu")) read_cpu(cpu);
  if (gpus_.empty())
    refuse(input_.file, "",
           "shows no GPU: neither a gpu element nor a pci element of class 0x0302 or 0x0300");
  // CPUs, bridges, GPUs by NCCL's number.
  std::stable_sort(node_.devices.begin(), node_.devices.end(),
                   [](const DraftDevice& a, const DraftDevice& b) { return place(a) < place(b); });
  read_nvlinks();
  mend_bridges();
  place_adapters();
  draft_.set_node(std::move(node_));
}

bool is_nccl_topology(const std::string& text) {
  const size_t system = text.find("<system");
  return system != std::string::npos && text.find("<topology") > system;
}

const bool kNcclTopologyRegistered = Registry<PlatformFormat>::add(
    {.name = "nccl-topology",
     .description = "NCCL's topology XML (NCCL_TOPO_DUMP_FILE)",
     .detects = is_nccl_topology,
     .import = [](const PlatformInput& input, const PlatformChoices& /*choices*/,
                  PlatformDraft& draft) { NcclReader(input, draft).read(); }});

}  // namespace
}  // namespace forescale
