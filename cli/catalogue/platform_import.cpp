#include "cli/catalogue/platform_import.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/json_text.hpp"
#include "base/output_file.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "topologies/import/platform_format.hpp"

namespace forescale {
namespace {

struct PlatformImportOptions {
  std::vector<std::string> files;
  std::string out;
  PlatformChoices choices;
};

void import_files(PlatformImportOptions& options) {
  check_writable(options.out, "-o");
  check_platform_choices(options.choices);
  options.choices.name = name_of_platform(options.choices, options.out);
  put_platform(import_platform(options.files, options.choices), options.out);
}

std::string known_inputs() {
  std::string list =
      "Read, told apart by content, the node from one file and the fabric from another:\n";
  for (const auto& [name, format] : Registry<PlatformFormat>::all())
    list += fmt::format("  {:<14} {}\n", name, format.description);
  return list;
}

}  // namespace

void add_platform_choices(Subcommand verb, PlatformChoices& choices) {
  verb.add_option("--name", choices.name, "Name of the platform; else that of the file");
  verb.add_option("--gpu", choices.gpu, "GPU: models/hardware/gpus, or your own JSON file");
  verb.add_option("--cpu", choices.cpu, "CPU: models/hardware/cpus, or your own JSON file");
  verb.add_option("--link", choices.link,
                  "From an adapter to its switch (ndr, hdr, edr, ethernet-10g, ...):\n"
                  "models/hardware/links, or your own JSON file");
  verb.add_option("--pcie", choices.pcie, "PCIe links whose speed no input says (pcie4-x16, ...)");
  verb.add_option("--nvlink", choices.nvlink, "GPUs are joined by NVSwitches, or not by NVLink")
      .one_of({"nvswitch", "none"});
  verb.add_option("--nodes", choices.nodes, "Nodes");
  verb.add_option("--levels", choices.levels, "Levels of switches, 1 to 3").in_range(1, 3);
  verb.add_option("--oversubscription", choices.oversubscription,
                  "Of leaf switches: ports down over ports up");
  verb.add_option("--radix", choices.radix, "Ports of a switch");
}

void check_platform_choices(const PlatformChoices& choices) {
  constexpr int kNodesMax = 1 << 20;
  constexpr int kRadixMax = 1 << 12;
  if (choices.nodes < 0 || choices.nodes > kNodesMax)
    refuse("--nodes", std::to_string(choices.nodes), fmt::format("must be 1 to {}", kNodesMax));
  const double over = choices.oversubscription;
  constexpr double kOverMax = 64;
  if (over != 0 && !(over >= 1 && over <= kOverMax))
    refuse("--oversubscription", fmt::format("{:g}", over),
           fmt::format("must be 1 (none) to {:g}", kOverMax));
  if (choices.radix != 0 && (choices.radix < 4 || choices.radix > kRadixMax))
    refuse("--radix", std::to_string(choices.radix), fmt::format("must be 4 to {}", kRadixMax));
  if (choices.levels == 1 && over > 1)
    refuse("--oversubscription", fmt::format("{:g}", over),
           "needs more than one level of switches");
}

std::string name_of_platform(const PlatformChoices& choices, const std::string& out) {
  if (!choices.name.empty()) return choices.name;
  const std::string stem = std::filesystem::path(out).stem().string();
  return out.ends_with(".json") ? stem : "mine";
}

void put_platform(const std::string& text, const std::string& out) {
  if (out.empty()) {
    fmt::print("{}", text);
    return;
  }
  write_file(out, text, "-o");
  const Platform platform = read_platform(text, out);
  fmt::print("{}: {}\n{}\n", out, platform.description, count_text(platform.provenance));
  const nlohmann::json file = parse_json(text);
  for (const auto& [key, heading] :
       {std::pair("source", "said"), std::pair("assumptions", "assumed")}) {
    if (file[key].empty()) continue;
    fmt::print("\n{}\n", heading);
    for (const nlohmann::json& each : file[key]) fmt::print("  {}\n", each.get<std::string>());
  }
}

void add_platform_import(Subcommand platform) {
  auto options = std::make_shared<PlatformImportOptions>();
  Subcommand verb = platform.add_subcommand(
      "import", "A platform file from NCCL, nvidia-smi, lstopo, ibnetdiscover or Slurm");
  verb.footer(
      known_inputs() +
      "What they do not say is taken from options, else from the preset with the same GPU;\n"
      "the file lists it under \"assumptions\".\n"
      "Examples:\n"
      "  forescale platform import topo.xml --nodes 32 -o mine.json\n"
      "  forescale platform import topo.xml ibnetdiscover.txt -o mine.json\n"
      "  forescale platform import topo_m.txt topology.conf --gpu h100 --link ndr\n"
      "  forescale platform import topo.xml --nodes 64 --levels 2 --oversubscription 2\n"
      "Then: forescale platform show mine.json; forescale predict --platform mine.json ...");
  verb.add_option("FILE", options->files, "What the tools wrote").required();
  verb.add_option("-o,--out", options->out, "Write the platform here; else it is printed");
  add_platform_choices(verb, options->choices);
  verb.callback([options] { import_files(*options); });
}

}  // namespace forescale
