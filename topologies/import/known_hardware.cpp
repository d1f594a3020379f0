#include "topologies/import/known_hardware.hpp"

#include <algorithm>
#include <map>

#include "base/data_files.hpp"
#include "base/json_input.hpp"

namespace forescale {
namespace {

constexpr const char* kGpuFiles = "models/hardware/gpus";
constexpr const char* kCpuFiles = "models/hardware/cpus";

JsonInput hardware(const std::string& folder, const std::string& name, const char* option) {
  return JsonInput::from_file(find_data_file(folder, name, option));
}

std::vector<std::string> with_word(const std::string& folder, const char* key,
                                   const std::string& word) {
  std::vector<std::string> found;
  for (const std::string& name : catalogue(folder))
    if (const auto words = hardware(folder, name, "importer").find(key))
      for (const JsonInput& each : words->elements())
        if (each.string() == word) found.push_back(name);
  return found;
}

std::string text_or_empty(const JsonInput& in, const char* key) {
  const auto text = in.find(key);
  return text && text->is_string() ? text->string() : "";
}

std::map<std::string, std::string> kinds_of(const JsonInput& node) {
  std::map<std::string, std::string> kinds;
  if (const auto devices = node.find("devices"))
    for (const JsonInput& device : devices->elements())
      kinds[device.at("name").string()] = device.at("kind").string();
  return kinds;
}

// The PCIe link of the first GPU.
std::string pcie_of(const JsonInput& node) {
  if (node.has("card_link")) return text_or_empty(node, "card_link");
  std::map<std::string, std::string> kinds = kinds_of(node);
  if (const auto links = node.find("links"))
    for (const JsonInput& link : links->elements()) {
      std::string name = text_or_empty(link, "class");
      if (name.starts_with("pcie") &&
          (kinds[link.at("from").string()] == "gpu" || kinds[link.at("to").string()] == "gpu"))
        return name;
    }
  return "";
}

}  // namespace

std::string gpu_of_pci_device(const std::string& device) {
  const std::vector<std::string> found = with_word(kGpuFiles, "pci_devices", device);
  return found.empty() ? "" : found.front();
}

std::vector<std::string> cpus_of_cpuid(const std::string& vendor, const std::string& family,
                                       const std::string& model) {
  return with_word(kCpuFiles, "cpuid", vendor + "-" + family + "-" + model);
}

std::optional<NvlinkKind> nvlinks_of_gpu(const std::string& gpu) {
  const auto kind = hardware(kGpuFiles, gpu, "--gpu").find("nvlinks");
  if (!kind) return std::nullopt;
  return NvlinkKind{.generation = static_cast<int>(kind->at("generation").integer(1, 99)),
                    .count = static_cast<int>(kind->at("count").integer(1, 99))};
}

std::optional<ReferencePlatform> reference_of_gpu(const std::string& gpu) {
  const std::string name = text_or_empty(hardware(kGpuFiles, gpu, "--gpu"), "reference_platform");
  if (name.empty()) return std::nullopt;
  const JsonInput preset = hardware("topologies/presets", name, "reference_platform");
  const JsonInput node = preset.at("node");
  const auto fabric = preset.find("fabric");
  const auto kinds = kinds_of(node);
  const auto count = [&](const char* kind) {
    return static_cast<int>(std::count_if(
        kinds.begin(), kinds.end(), [kind](const auto& device) { return device.second == kind; }));
  };
  return ReferencePlatform{.name = name,
                           .nccl = text_or_empty(preset, "nccl"),
                           .cpu = text_or_empty(node, "cpu"),
                           .adapter_link = fabric ? text_or_empty(*fabric, "link") : "",
                           .pcie = pcie_of(node),
                           .has_nvswitch = count("nvswitch") > 0,
                           .gpus = count("gpu"),
                           .adapters = count("nic"),
                           .cpus = count("cpu")};
}

std::string socket_link_of_cpu(const std::string& cpu) {
  return text_or_empty(hardware(kCpuFiles, cpu, "--cpu"), "socket_link");
}

}  // namespace forescale
