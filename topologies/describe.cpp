// A platform as text for a terminal: one node's tree, the fabric, the numbers and their sources.
#include <fmt/format.h>

#include <filesystem>

#include "topologies/node_routes.hpp"

namespace forescale {
namespace {

std::string to_line(const LinkClass& link_class) {
  return fmt::format("{}: {} {}, {}", link_class.name, to_text(link_class.bandwidth),
                     link_class.full_duplex ? "each way" : "shared by both ways",
                     to_text(link_class.latency));
}

// Prints node 0 depth first; a link to a device that was printed already is only named.
class NodeTree {
 public:
  explicit NodeTree(const Platform& platform)
      : platform_(platform), is_printed_(static_cast<size_t>(platform.node_device_count), false) {}

  std::string text() {
    for (int device = 0; device < platform_.node_device_count; ++device)
      if (!is_printed_[static_cast<size_t>(device)]) print(device, -1, 1);
    return text_;
  }

 private:
  void print(int device, int by_link, int depth) {
    is_printed_[static_cast<size_t>(device)] = true;
    text_ += std::string(static_cast<size_t>(2 * depth), ' ') + label(device);
    if (by_link >= 0) text_ += fmt::format("  [{}]", class_of(by_link).name);
    text_ += '\n';
    for (int link = 0; link < platform_.node_link_count; ++link) {
      const Link& each = platform_.links[static_cast<size_t>(link)];
      if (link == by_link || (each.from != device && each.to != device)) continue;
      const int other = each.from == device ? each.to : each.from;
      const bool is_beside_tree =
          (kind(device) == DeviceKind::kCpu && kind(other) == DeviceKind::kCpu) ||
          kind(other) == DeviceKind::kNvSwitch;
      if (!is_printed_[static_cast<size_t>(other)] && !is_beside_tree)
        print(other, link, depth + 1);
      else if (is_named_by(device, other))
        text_ += fmt::format("{}= {}  [{}]\n", std::string(static_cast<size_t>(2 * depth + 2), ' '),
                             label(other), class_of(link).name);
    }
  }

  // An NVSwitch names all its GPUs.
  bool is_named_by(int device, int other) const {
    if (kind(device) == kind(other)) return device < other;
    return kind(device) == DeviceKind::kNvSwitch ||
           (kind(other) != DeviceKind::kNvSwitch && device < other);
  }

  DeviceKind kind(int device) const { return platform_.devices[static_cast<size_t>(device)].kind; }
  std::string label(int device) const {
    const std::string& name = platform_.devices[static_cast<size_t>(device)].name;
    const char* shared = kind(device) == DeviceKind::kPcieSwitch ? " (shared switch)" : "";
    return name.substr(name.find('/') + 1) + shared;
  }
  const LinkClass& class_of(int link) const {
    const Link& each = platform_.links[static_cast<size_t>(link)];
    return platform_.link_classes[static_cast<size_t>(each.link_class)];
  }

  const Platform& platform_;
  std::vector<bool> is_printed_;
  std::string text_;
};

std::string to_line(const NumberSource& number) {
  const std::string file = std::filesystem::path(number.file).stem().string();
  std::string text = fmt::format("{}{} = {:g}", file, number.path, number.value);
  if (number.assumed) text += fmt::format("  assumed, {:g} .. {:g}", number.fast, number.slow);
  return text + "  (" + number.source + ")";
}

}  // namespace

std::string describe(const Platform& platform) {
  std::string text = fmt::format("{}: {}\n", platform.name, platform.description);
  text += fmt::format("{} nodes, {} slots", platform.node_count, platform.slot_count());
  if (platform.can_train())
    text += fmt::format(", {}GPU {}", platform.gpus_are_emulated ? "emulated " : "",
                        platform.gpu_models[0].name);
  if (!platform.fitted_gpu.empty())
    text += fmt::format(" with what was measured in {}", platform.fitted_gpu);
  if (!platform.cpu_models.empty()) text += fmt::format(", CPU {}", platform.cpu_models[0].name);
  text +=
      fmt::format("\n\none node: {}\n{}", platform.node_routes->summary, NodeTree(platform).text());
  if (!platform.fabric_summary.empty()) {
    text += fmt::format("\nfabric: {}\n", platform.fabric_summary);
    const size_t first =
        static_cast<size_t>(platform.node_count) * static_cast<size_t>(platform.node_link_count);
    std::vector<int> counts(platform.link_classes.size(), 0);
    for (size_t i = first; i < platform.links.size(); ++i)
      ++counts[static_cast<size_t>(platform.links[i].link_class)];
    for (size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0)
        text += fmt::format("  {} links  [{}]\n", counts[i], platform.link_classes[i].name);
  }
  text +=
      fmt::format("bisection (upper bound): {} one way\n", to_text(bisection_bandwidth(platform)));
  text += fmt::format("placement: {}\n", platform.placement);
  if (platform.cores_per_node > 0)
    text += fmt::format("cores a node: {}\n", platform.cores_per_node);
  if (platform.storage)
    text += fmt::format("storage: {}, {}\n", platform.storage->name, platform.storage->description);
  text += "\nlink classes\n";
  for (const LinkClass& link_class : platform.link_classes)
    text += "  " + to_line(link_class) + "\n";
  if (!platform.assumptions.empty()) text += "\nassumed about the structure\n";
  for (const std::string& each : platform.assumptions) text += "  " + each + "\n";
  text += "\nnumbers\n";
  for (const NumberSource& number : platform.provenance.numbers)
    text += "  " + to_line(number) + "\n";
  if (platform.storage)
    for (const NumberSource& number : platform.storage->provenance.numbers)
      text += "  " + to_line(number) + "\n";
  return text;
}

}  // namespace forescale
