// What inputs do not say is filled in, from options, then from the preset of the same GPU, and said
// to be assumed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "topologies/import/known_hardware.hpp"
#include "topologies/import/link_classes.hpp"
#include "topologies/import/platform_draft.hpp"
#include "topologies/import/write_platform.hpp"

namespace forescale {
namespace {

constexpr int kRadix = 64;  // a Quantum-2 QM9700 switch has so many ports

class Completion {
 public:
  Completion(PlatformDraft draft, const PlatformChoices& choices)
      : draft_(std::move(draft)), choices_(choices) {}

  FinishedPlatform finished();

 private:
  void complete_gpu();
  void complete_cpu();
  void complete_pcie();
  void join_sockets();
  void doubt_bridges();
  void complete_nvlinks();
  void remove_lonely();
  void complete_nodes();
  void complete_adapter_link();
  FatTreeShape fabric();
  FatTreeShape tree_asked(int adapters);
  FatTreeShape tree_listed(const DraftFabric& listed, int adapters);
  bool uses(const std::string& link_class);
  std::string description();

  DraftNode& node() { return *draft_.node; }
  bool is_host() { return node().count(DeviceKind::kHost) > 0; }
  bool has_gpus() { return node().count(DeviceKind::kGpu) > 0; }
  std::string files() const;
  void assume(const std::string& what) { draft_.assumed.push_back(what); }
  void say(const std::string& what) { draft_.sources.push_back(what); }

  PlatformDraft draft_;
  const PlatformChoices& choices_;
  std::optional<ReferencePlatform> reference_;
  int nodes_ = 0;
  int cores_ = 0;  // of a node; 0: those of its sockets
};

std::string Completion::files() const {
  std::set<std::string> names;
  if (draft_.node) names.insert(draft_.node->file);
  if (draft_.fabric) names.insert(draft_.fabric->file);
  return fmt::format("{}", fmt::join(names, " and "));
}

void Completion::complete_gpu() {
  std::string& gpu = node().gpu;
  if (!choices_.gpu.empty()) {
    find_data_file("models/hardware/gpus", choices_.gpu, "--gpu");
    if (!has_gpus()) refuse("--gpu", choices_.gpu, "means nothing: " + node().file + " has no GPU");
    if (!gpu.empty() && gpu != choices_.gpu)
      assume(fmt::format("--gpu {}, where {} says {}", choices_.gpu, node().file, gpu));
    gpu = choices_.gpu;
    say("gpu: --gpu");
  }
  if (!has_gpus()) return;
  if (gpu.empty())
    refuse("--gpu", "",
           fmt::format("is needed: {} does not say which GPU of the catalogue ({}) it has",
                       node().file, fmt::join(catalogue("models/hardware/gpus"), ", ")));
  reference_ = reference_of_gpu(gpu);
}

void Completion::complete_cpu() {
  std::string& cpu = node().cpu;
  if (!choices_.cpu.empty()) {
    find_data_file("models/hardware/cpus", choices_.cpu, "--cpu");
    cpu = choices_.cpu;
    say("cpu: --cpu");
  }
  if (!cpu.empty()) return;
  if (!reference_ || reference_->cpu.empty())
    refuse("--cpu", "",
           fmt::format("is needed: {} does not say which CPU of the catalogue ({}) it has",
                       node().file, fmt::join(catalogue("models/hardware/cpus"), ", ")));
  cpu = reference_->cpu;
  assume(fmt::format("cpu: {}, as in {}; --cpu says another", cpu, reference_->name));
}

void Completion::complete_pcie() {
  int missing = 0;
  for (const DraftLink& link : node().links) missing += link.link_class.empty() ? 1 : 0;
  if (!choices_.pcie.empty()) {
    find_data_file("models/hardware/links", choices_.pcie, "--pcie");
    if (missing == 0)
      refuse("--pcie", choices_.pcie, "means nothing: " + node().file + " says how fast each is");
    say(fmt::format("{} PCIe links: --pcie", missing));
  }
  if (missing == 0) return;
  if (choices_.pcie.empty() && (!reference_ || reference_->pcie.empty()))
    refuse("--pcie", "",
           fmt::format("is needed: {} does not say how fast PCIe is (pcie3-x16, pcie4-x16, ...)",
                       node().file));
  const std::string pcie = choices_.pcie.empty() ? reference_->pcie : choices_.pcie;
  if (choices_.pcie.empty())
    assume(fmt::format("{} of {} PCIe links: {}, as in {}; --pcie says another", missing,
                       node().links.size(), pcie, reference_->name));
  for (DraftLink& link : node().links)
    if (link.link_class.empty()) link.link_class = pcie;
}

// All pairs; NUMA nodes of one socket are sockets here.
void Completion::join_sockets() {
  std::vector<std::string> cpus;
  for (const DraftDevice& device : node().devices)
    if (device.kind == DeviceKind::kCpu) cpus.push_back(device.name);
  if (cpus.size() < 2) return;
  const std::string link = socket_link_of_cpu(node().cpu);
  if (link.empty())
    refuse("--cpu", node().cpu, "has no socket_link in its file, but the node has several sockets");
  for (size_t i = 0; i < cpus.size(); ++i)
    for (size_t j = i + 1; j < cpus.size(); ++j)
      node().links.push_back(
          {.from = cpus[i], .to = cpus[j], .link_class = link, .source = "of " + node().cpu});
  assume(fmt::format("sockets are joined by {}, as those of {} are", link, node().cpu));
  const int sockets = reference_ ? reference_->cpus : 0;
  if (sockets == 0 || static_cast<int>(cpus.size()) <= sockets) return;
  cores_ = sockets * load_cpu(node().cpu, "--cpu", nullptr).cores;
  assume(fmt::format("{} NUMA nodes, each a socket of its own; {} cores, of {} sockets as in {}",
                     cpus.size(), cores_, sockets, reference_->name));
}

// What a virtual machine shows of its bridges may be made up.
void Completion::doubt_bridges() {
  for (const DraftDevice& device : node().devices) {
    if (device.kind != DeviceKind::kPcieSwitch) continue;
    std::string up;
    std::string fastest;
    for (const DraftLink& link : node().links) {
      if (link.to == device.name) up = link.link_class;
      if (link.from == device.name && pcie_bandwidth(link.link_class) > pcie_bandwidth(fastest))
        fastest = link.link_class;
    }
    if (pcie_bandwidth(up) > 0 && pcie_bandwidth(up) < pcie_bandwidth(fastest))
      assume(
          fmt::format("{} goes up by {}, slower than the {} below it, as {} says: if that is a "
                      "virtual machine's, mend it in the file",
                      device.name, up, fastest, node().file));
  }
}

void Completion::complete_nvlinks() {
  DraftNode& here = node();
  if (!has_gpus()) return;
  const auto kind = nvlinks_of_gpu(here.gpu);
  if (choices_.nvlink == "none") {
    if (!here.nvlinks.empty()) assume("--nvlink none, where " + here.file + " has NVLinks");
    here.nvlinks.clear();
    return;
  }
  const bool is_asked = choices_.nvlink == "nvswitch";
  if (is_asked && !kind) refuse("--nvlink", "nvswitch", here.gpu + " has no NVLinks");
  if (is_asked || (!here.says_nvlinks && kind && reference_ && reference_->has_nvswitch)) {
    if (!is_asked)
      assume(
          fmt::format("NVLinks: {} a GPU to NVSwitches, as in {}; --nvlink none says there are "
                      "none",
                      kind->count, reference_->name));
    here.nvlinks.clear();
    for (const DraftDevice& device : here.devices)
      if (device.kind == DeviceKind::kGpu)
        here.nvlinks.push_back({.from = device.name,
                                .to = "nvswitch",
                                .count = kind->count,
                                .source = is_asked ? "--nvlink" : "as in " + reference_->name});
  }
  if (here.nvlinks.empty()) {
    if (!here.says_nvlinks && kind && here.count(DeviceKind::kGpu) > 1)
      refuse("--nvlink", "",
             fmt::format("is needed: {} does not say how the NVLinks of its GPUs run", here.file));
    return;
  }
  if (!kind) refuse("--gpu", here.gpu, "has no NVLinks, but " + here.file + " lists some");
  bool has_switch = false;
  for (const DraftNvlinks& each : here.nvlinks) {
    const std::string name = nvlink_class(draft_, kind->generation, each.count);
    if (name.empty())
      refuse(here.file, fmt::format("{}", each.count),
             fmt::format("NVLinks of generation {} are not in the catalogue", kind->generation));
    here.links.push_back(
        {.from = each.from, .to = each.to, .link_class = name, .source = each.source});
    has_switch = has_switch || each.to == "nvswitch";
  }
  if (!has_switch) return;
  here.devices.push_back({.name = "nvswitch", .kind = DeviceKind::kNvSwitch});
  assume("all NVSwitches of a node are one; each GPU's NVLinks are one link to it");
}

// Switches that lead nowhere and, beside a CPU that has something, CPUs that have nothing.
void Completion::remove_lonely() {
  DraftNode& here = node();
  for (;;) {
    std::map<std::string, int> degree;
    for (const DraftLink& link : here.links) {
      ++degree[link.from];
      ++degree[link.to];
    }
    const bool several = here.count(DeviceKind::kCpu) > 1 && here.links.size() > 0;
    const auto lonely =
        std::find_if(here.devices.begin(), here.devices.end(), [&](const DraftDevice& device) {
          return (device.kind == DeviceKind::kPcieSwitch && degree[device.name] < 2) ||
                 (device.kind == DeviceKind::kCpu && several && degree[device.name] == 0);
        });
    if (lonely == here.devices.end()) return;
    const std::string name = lonely->name;
    here.devices.erase(lonely);
    std::erase_if(here.links,
                  [&](const DraftLink& link) { return link.from == name || link.to == name; });
  }
}

void Completion::complete_nodes() {
  if (draft_.fabric) {
    nodes_ = draft_.fabric->nodes;
    if (choices_.nodes > 0 && choices_.nodes != nodes_)
      refuse("--nodes", std::to_string(choices_.nodes),
             fmt::format("must be {}, as many as {} has; FILE:nodes=N is the way to another number",
                         nodes_, draft_.fabric->file));
    say(fmt::format("nodes: {}", draft_.fabric->file));
  } else if (choices_.nodes > 0) {
    nodes_ = choices_.nodes;
    say("nodes: --nodes");
  } else {
    nodes_ = 1;
    assume("1 node; --nodes says more, and FILE:nodes=N does where the platform is used");
  }
}

void Completion::complete_adapter_link() {
  std::string& link = node().adapter_link;
  const std::string of_fabric = draft_.fabric ? draft_.fabric->link : "";
  if (!choices_.link.empty()) {
    find_data_file("models/hardware/links", choices_.link, "--link");
    if (!link.empty() && link != choices_.link)
      assume(fmt::format("--link {}, where {} says {}", choices_.link, node().file, link));
    link = choices_.link;
    say("link of an adapter: --link");
  } else if (!of_fabric.empty()) {
    if (!link.empty() && link != of_fabric)
      assume(fmt::format("link of an adapter: {} as {} says; {} says {}", of_fabric,
                         draft_.fabric->file, node().file, link));
    link = of_fabric;
  }
  if (!link.empty()) return;
  if (!reference_ || reference_->adapter_link.empty())
    refuse("--link", "",
           fmt::format("is needed: {} does not say how fast an adapter is (ndr, hdr, edr, "
                       "ethernet-10g, ...: forescale's models/hardware/links)",
                       files()));
  link = reference_->adapter_link;
  assume(
      fmt::format("link of an adapter: {}, as in {}; --link says another", link, reference_->name));
}

FatTreeShape Completion::tree_asked(int adapters) {
  const int levels = choices_.levels > 0 ? choices_.levels : 2;
  const double over = choices_.oversubscription > 0 ? choices_.oversubscription : 1;
  const int radix = choices_.radix > 0 ? choices_.radix : kRadix;
  if (choices_.radix == 0 && levels > 1)
    assume(fmt::format("switches of {} ports; --radix says another number", radix));
  if (choices_.oversubscription <= 0 && levels > 1)
    assume("no oversubscription; --oversubscription says another");
  if (choices_.levels == 0) assume("two levels of switches; --levels says another number");
  FatTreeShape tree = tree_of_ports(nodes_, adapters, levels, radix, over);
  if (!tree.up.empty())
    assume(
        fmt::format("leaves of {} ports down and {} up ({:.3g}:1), {}; all adapters of a node on "
                    "one leaf, routes fixed by destination (keys `rails` and `routing` of the "
                    "file's fabric say another)",
                    tree.down.front(), tree.up.front(),
                    static_cast<double>(tree.down.front()) / tree.up.front(),
                    tree.down.front() % adapters == 0
                        ? fmt::format("{} nodes each", tree.down.front() / adapters)
                        : "no whole nodes"));
  return tree;
}

FatTreeShape Completion::tree_listed(const DraftFabric& listed, int adapters) {
  if (choices_.levels > 0)
    refuse("--levels", std::to_string(choices_.levels), "is what " + listed.file + " says");
  if (listed.adapters > 1 && is_host())
    refuse(listed.file, std::to_string(listed.adapters),
           "adapters a node, but bare hosts have one: give a file of the node too");
  if (listed.adapters > 0 && listed.adapters != adapters)
    refuse(listed.file, std::to_string(listed.adapters),
           fmt::format("adapters a node, but {} has {}", node().file, adapters));
  const bool is_asked = choices_.oversubscription > 0;
  const FabricFound found = tree_of_switches(listed.switches, listed.adapters > 0 ? 0 : adapters,
                                             is_asked ? choices_.oversubscription : 1, listed.file);
  if (is_asked && (listed.switches.counts_cables || found.tree.is_one_switch()))
    refuse("--oversubscription", fmt::format("{:g}", choices_.oversubscription),
           "is what the cables of " + listed.file + " say");
  for (const std::string& each : found.assumed) assume(each);
  if (!listed.switches.counts_cables && !found.tree.is_one_switch() && !is_asked)
    assume(
        fmt::format("no oversubscription: {} does not count cables; --oversubscription says "
                    "another",
                    listed.file));
  if (!found.is_by_rail) return found.tree;
  assume(
      fmt::format("the adapters of a node hang on different leaves of {}, by rail: taken as "
                  "one switch that never limits",
                  listed.file));
  return {.down = {nodes_ * adapters}, .up = {}};
}

FatTreeShape Completion::fabric() {
  const int adapters = std::max(1, node().count(DeviceKind::kNic));
  const bool shape_is_asked = choices_.levels > 0 || choices_.oversubscription > 0;
  if (choices_.radix > 0 && (draft_.fabric || !shape_is_asked))
    refuse("--radix", std::to_string(choices_.radix),
           "means nothing without --levels or --oversubscription, or where a file lists switches");
  if (draft_.fabric) return tree_listed(*draft_.fabric, adapters);
  if (shape_is_asked) return tree_asked(adapters);
  assume("the fabric is one switch that never limits; --levels and --oversubscription say more");
  return {.down = {nodes_ * adapters}, .up = {}};
}

FinishedPlatform Completion::finished() {
  if (!draft_.node) {
    draft_.node = DraftNode{.file = draft_.fabric->file};
    draft_.node->devices = {{.name = "host", .kind = DeviceKind::kHost}};
    assume(fmt::format("nodes are bare hosts: {} says nothing of them; give a file of the node too",
                       node().file));
  }
  complete_gpu();
  if (!is_host()) remove_lonely();
  if (!is_host() || !choices_.cpu.empty()) complete_cpu();
  if (!is_host()) {
    complete_pcie();
    doubt_bridges();
    join_sockets();
    complete_nvlinks();
  }
  complete_nodes();
  FinishedPlatform platform{
      .name = choices_.name.empty() ? "mine" : choices_.name, .nodes = nodes_, .cores = cores_};
  if (is_host() || node().count(DeviceKind::kNic) > 0) {
    complete_adapter_link();
    platform.fabric = fabric();
  } else if (nodes_ > 1) {
    refuse(node().file, "", "shows no network adapter, which more than one node needs");
  }
  if (reference_ && !reference_->nccl.empty()) {
    platform.nccl = reference_->nccl;
    assume(fmt::format("nccl: {}, as in {}; --stack says another where it is used", platform.nccl,
                       reference_->name));
  }
  for (const auto& [each, link] : draft_.link_classes)
    if (uses(each)) {
      platform.link_classes[each] = link;
      assume(each + ": " + link.at("note").get<std::string>());
    }
  platform.description = description();
  platform.draft = std::move(draft_);
  return platform;
}

bool Completion::uses(const std::string& link_class) {
  return node().adapter_link == link_class ||
         std::any_of(node().links.begin(), node().links.end(),
                     [&](const DraftLink& link) { return link.link_class == link_class; });
}

std::string Completion::description() {
  const int gpus = node().count(DeviceKind::kGpu);
  const int adapters = is_host() ? 1 : node().count(DeviceKind::kNic);
  return fmt::format("{} node{}{}, {} adapter{} a node, from {}", nodes_, nodes_ == 1 ? "" : "s",
                     gpus > 0 ? fmt::format(" x {} {}", gpus, node().gpu) : "", adapters,
                     adapters == 1 ? "" : "s", files());
}

}  // namespace

std::string complete_platform(PlatformDraft draft, const PlatformChoices& choices) {
  std::string text = text_of_platform(Completion(std::move(draft), choices).finished());
  read_platform(text, "the imported platform");
  return text;
}

}  // namespace forescale
