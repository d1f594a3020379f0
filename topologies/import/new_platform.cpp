#include "topologies/import/new_platform.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "topologies/import/known_hardware.hpp"

namespace forescale {
namespace {

constexpr int kGpusMax = 64;

// As many PCIe switches as there are of what is fewer, GPUs or adapters, spread over two sockets;
// each has its share of both.
void build_node(DraftNode& node, int gpus, int adapters) {
  const int switches = adapters > 0 ? std::min(gpus, adapters) : std::max(1, gpus / 2);
  const int sockets = std::min(switches, 2);
  for (int i = 0; i < sockets; ++i)
    node.devices.push_back(
        {.name = fmt::format("cpu{}", i), .kind = DeviceKind::kCpu, .socket = i});
  const auto socket_of = [&](int number) { return number * sockets / switches; };
  for (int i = 0; i < switches; ++i) {
    const std::string name = fmt::format("switch{}", i);
    node.devices.push_back({.name = name, .kind = DeviceKind::kPcieSwitch, .socket = socket_of(i)});
    node.links.push_back({.from = fmt::format("cpu{}", socket_of(i)), .to = name});
  }
  const auto add_ends = [&](const char* stem, DeviceKind kind, int count) {
    for (int i = 0; i < count; ++i) {
      const int above = i * switches / count;
      const std::string name = fmt::format("{}{}", stem, i);
      node.devices.push_back({.name = name, .kind = kind, .socket = socket_of(above)});
      node.links.push_back({.from = fmt::format("switch{}", above), .to = name});
    }
  };
  add_ends("gpu", DeviceKind::kGpu, gpus);
  add_ends("nic", DeviceKind::kNic, adapters);
}

}  // namespace

int usual_adapters(const std::string& gpu, int gpus) {
  const auto reference = reference_of_gpu(gpu);
  if (!reference || reference->gpus == 0) return 1;
  return std::max(1, gpus * reference->adapters / reference->gpus);
}

std::string new_platform(const PlatformAnswers& answers) {
  const PlatformChoices& choices = answers.choices;
  if (choices.gpu.empty())
    refuse("--gpu", "", "is needed: the GPU (forescale's models/hardware/gpus)");
  find_data_file("models/hardware/gpus", choices.gpu, "--gpu");
  if (answers.gpus == 0) refuse("--gpus", "", "is needed: GPUs of a node");
  if (answers.gpus < 0 || answers.gpus > kGpusMax)
    refuse("--gpus", std::to_string(answers.gpus), fmt::format("must be 1 to {}", kGpusMax));
  if (choices.nodes == 0) refuse("--nodes", "", "is needed: how many nodes there are");
  if (answers.adapters && (*answers.adapters < 0 || *answers.adapters > kGpusMax))
    refuse("--adapters", std::to_string(*answers.adapters),
           fmt::format("must be 0 to {}", kGpusMax));
  PlatformDraft draft;
  DraftNode node{.file = "the answers", .gpu = choices.gpu};
  const int adapters = answers.adapters.value_or(usual_adapters(choices.gpu, answers.gpus));
  if (!answers.adapters)
    draft.assumed.push_back(
        fmt::format("adapters of a node: {}, as in the preset with {}; "
                    "--adapters says another number",
                    adapters, choices.gpu));
  build_node(node, answers.gpus, adapters);
  draft.assumed.push_back(
      "PCIe: GPUs and adapters are spread over as many switches as there are of the fewer, and "
      "over "
      "two sockets");
  draft.set_node(std::move(node));
  return complete_platform(std::move(draft), choices);
}

}  // namespace forescale
