// What --platform takes, made into a Platform: a generator's "name:key=value,...", a preset's name
// or a JSON file. A generator's text becomes a flat JSON object, so that both share one reader and
// one kind of error: "--platform star:/hosts = 0: must be >= 1".
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "base/utf8.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/node_template.hpp"
#include "topologies/placement.hpp"
#include "topologies/platform_schema.hpp"

namespace forescale {
namespace {

constexpr const char* kOption = "--platform";
constexpr const char* kPresets = "topologies/presets";
constexpr int kNodesMax = 1 << 20;
constexpr std::int64_t kDevicesMax = 1 << 22;

// "16" -> 16, "4x4" -> [4,4], anything else a string.
nlohmann::json value_of(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), number);
    if (error != std::errc()) return text;
    numbers.push_back(number);
    at = end;
    if (at == text.data() + text.size()) break;
    if (*at != 'x' || ++at == text.data() + text.size()) return text;
  }
  if (numbers.empty()) return text;
  if (numbers.size() == 1) return numbers[0];
  return numbers;
}

// "hosts=64,latency=1us" -> {"hosts": 64, "latency": "1us"}.
nlohmann::json keys_of(const std::string& text, const std::string& source) {
  nlohmann::json keys = nlohmann::json::object();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == item.size())
      throw InputError(
          {.source = source, .path = "", .value = item, .constraint = "must be key=value"});
    const std::string key = item.substr(0, equals);
    if (keys.contains(key))
      throw InputError(
          {.source = source, .path = "/" + key, .value = "", .constraint = "is given twice"});
    keys[key] = value_of(item.substr(equals + 1));
    begin = end + 1;
  }
  return keys;
}

Platform generate(const std::string& name, const std::string& text, Scenario scenario) {
  const Generator& generator = Registry<Generator>::find(name, kOption);
  const std::string source = std::string(kOption) + " " + name;
  Platform platform;
  platform.provenance.scenario = scenario;
  platform.name = name;
  platform.description = generator.summary;
  platform.is_generated = true;
  const nlohmann::json keys = keys_of(as_utf8(text), source);
  generator.generate(platform, JsonInput::from_text(keys.dump(), source, &platform.provenance));
  return platform;
}

void read_fabric(Platform& platform, LinkReader& classes, const JsonInput& in) {
  const JsonInput layout = required(in, "layout");
  const std::string name = layout.string();
  const auto& known = Registry<Fabric>::all();
  const auto fabric = known.find(name);
  if (fabric == known.end()) layout.fail("is " + unknown_name(name, Registry<Fabric>::names()));
  if (platform.node_routes->ports.empty()) in.fail("needs a NIC in the node (key \"nics\")");
  allow_only_keys(fabric->second, in, false);
  FabricSite site(platform, classes, in, false);
  build_fabric(fabric->second, site);
}

// Training on made-up data rests on none of these numbers, so they stay with the storage.
void read_platform_storage(Platform& platform, const JsonInput& in) {
  std::vector<NumberSource>& numbers = platform.provenance.numbers;
  const auto before = static_cast<std::ptrdiff_t>(numbers.size());
  platform.storage = read_storage(in);
  platform.storage->provenance.scenario = platform.provenance.scenario;
  platform.storage->provenance.numbers.assign(numbers.begin() + before, numbers.end());
  numbers.erase(numbers.begin() + before, numbers.end());
}

// `in` notes its numbers in platform.provenance. `nodes`: so many, whatever it says.
void read(Platform& platform, const JsonInput& in, std::optional<int> nodes = std::nullopt) {
  in.allow_only({"$schema", "format", "name", "description", "assumptions", "link_classes", "node",
                 "fabric", "placement", "storage", "nccl"});
  in.at("format").one_of({"forescale-platform-1"});
  platform.name = in.at("name").string();
  if (const auto description = in.find("description")) platform.description = description->string();
  if (const auto assumptions = in.find("assumptions"))
    for (const JsonInput& each : assumptions->elements())
      platform.assumptions.push_back(each.string());
  if (const auto nccl = in.find("nccl")) {
    platform.nccl = nccl->string();
    find_data_file("models/stacks", platform.nccl, nccl->file() + ":" + nccl->path());
  }
  LinkReader classes(platform);
  if (const auto own = in.find("link_classes")) classes.define(*own);
  const JsonInput node_in = in.at("node");
  const JsonInput count_in = required(node_in, "count");
  const auto stated = static_cast<int>(count_in.integer(1, kNodesMax));
  const int count = nodes.value_or(stated);
  if (count != stated)
    platform.assumptions.push_back(
        fmt::format("{} nodes like the {} of the file, on a fabric of its kind", count, stated));
  const NodeTemplate node = read_node(platform, classes, node_in);
  if (static_cast<std::int64_t>(std::max(node.devices.size(), node.links.size() / 4)) * count >
      kDevicesMax)
    count_in.fail("must not make more than " + std::to_string(kDevicesMax) + " devices");
  place_nodes(platform, node, count, node_in);
  if (const auto fabric = in.find("fabric"))
    read_fabric(platform, classes, *fabric);
  else if (count > 1)
    in.at("fabric");  // required: fails
  if (const auto storage = in.find("storage")) read_platform_storage(platform, *storage);
  if (const auto placement = in.find("placement"))
    place_ranks(platform, placement->string(), in.file() + ":" + placement->path());
  check_platform_schema(in);
}

// "dgx-h100:nodes=576": a preset or file with so many nodes.
struct NodesAsked {
  std::string name;
  std::optional<int> nodes = {};
};
NodesAsked nodes_asked(const std::string& text) {
  const std::string key = ":nodes=";
  const size_t at = text.rfind(key);
  if (at == std::string::npos) return {.name = text};
  const std::string name = text.substr(0, at);
  if (Registry<Generator>::all().count(name) != 0) return {.name = text};
  const std::int64_t nodes = parse_integer(text.substr(at + key.size()), kOption);
  if (nodes < 1 || nodes > kNodesMax)
    refuse(kOption, text, fmt::format("nodes must be from 1 to {}", kNodesMax));
  return {.name = name, .nodes = static_cast<int>(nodes)};
}

}  // namespace

Platform read_platform(const std::string& json, const std::string& file, Scenario scenario) {
  Platform platform;
  platform.provenance.scenario = scenario;
  read(platform, JsonInput::from_text(json, file, &platform.provenance));
  return platform;
}

Platform load_platform(const std::string& asked, Scenario scenario) {
  const auto [text, nodes] = nodes_asked(asked);
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  // A generator's text may hold a '/' itself: "bandwidth=12.5GB/s".
  const bool is_path = name.find('/') != std::string::npos || name.ends_with(".json");
  if (!is_path && (colon != std::string::npos || Registry<Generator>::all().count(name) != 0))
    return generate(name, colon == std::string::npos ? "" : text.substr(colon + 1), scenario);
  if (!is_path) {
    std::vector<std::string> names = catalogue(kPresets);
    if (std::find(names.begin(), names.end(), text) == names.end()) {
      for (const std::string& generator : Registry<Generator>::names())
        names.push_back(generator + ":...");
      throw InputError({.source = kOption,
                        .path = "",
                        .value = text,
                        .constraint = unknown_name(text, names) + file_hint(text)});
    }
  }
  const std::string file = find_data_file(kPresets, text, kOption);
  Platform platform;
  platform.provenance.scenario = scenario;
  read(platform, JsonInput::from_file(file, &platform.provenance), nodes);
  if (nodes) platform.name = asked;
  return platform;
}

std::vector<GeneratorHelp> platform_generators() {
  std::vector<GeneratorHelp> list;
  for (const auto& [name, generator] : Registry<Generator>::all())
    list.push_back({.name = name, .usage = generator.usage, .summary = generator.summary});
  return list;
}

}  // namespace forescale
