#include "cli/catalogue/stack_log.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/input_text.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "models/nccl_environment.hpp"
#include "models/nccl_log.hpp"
#include "models/nccl_release.hpp"
#include "models/stack.hpp"
#include "topologies/platform.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr std::uintmax_t kLogBytesMax = 256 << 20;  // of 1,024 ranks NCCL writes some 100
constexpr size_t kRanksShown = 16;

struct StackLogOptions {
  std::string file;
  std::string platform;
  bool json = false;
};

int adapters_of_node(const Platform& platform) {
  return static_cast<int>(std::count_if(
      platform.devices.begin(), platform.devices.end(),
      [](const Device& device) { return device.kind == DeviceKind::kNic && device.node == 0; }));
}

// What `predict` and `collective` are told of it, and why.
struct OptionToTell {
  std::string option;
  std::string why;
};

// The log's release of the platform's NCCL, where that is another stack than its own.
std::string nccl_of(const NcclLog& log, const std::optional<Platform>& platform) {
  const std::string named =
      fmt::format("{}-{}", kNccl, log.version.substr(0, log.version.rfind('.')));
  if (!platform || platform->nccl.empty() || log.version.empty()) return kNccl;
  try {
    const std::string other = nccl_stack_of_release(platform->nccl, named, "log");
    return other.empty() || other == platform->nccl ? kNccl : named;
  } catch (const InputError&) {
    return kNccl;  // nothing is known of that release
  }
}

// Release and variables that a stack takes, and the share of the platform's adapters that is in
// use.
std::vector<OptionToTell> options_of(const NcclLog& log, const std::optional<Platform>& platform) {
  std::vector<OptionToTell> options;
  const std::vector<std::string> known = nccl_variables();
  std::vector<std::string> taken;
  for (const auto& [name, value] : log.variables)
    if (std::find(known.begin(), known.end(), name) != known.end())
      taken.push_back(fmt::format("{}={}", name, value));
  const std::string nccl = nccl_of(log, platform);
  if (nccl != kNccl || !taken.empty())
    options.push_back(
        {fmt::format("--stack {}{}{}", nccl, taken.empty() ? "" : ":", fmt::join(taken, ",")),
         nccl == kNccl   ? "what its environment says"
         : taken.empty() ? "its release"
                         : "its release, and what its environment says"});
  const int used = adapters_in_use(log);
  const int there = platform ? adapters_of_node(*platform) : 0;
  if (used > 0 && used < there)
    options.push_back({fmt::format("--network-scale {:g}", static_cast<double>(used) / there),
                       fmt::format("{} of {} adapters of a node of {}, taken to be as fast", used,
                                   there, platform->name)});
  return options;
}

json to_json(const NcclLog& log, const std::vector<OptionToTell>& options) {
  json told = json::array();
  for (const OptionToTell& one : options)
    told.push_back({{"option", one.option}, {"why", one.why}});
  json rings = json::object();
  for (const auto& [channel, ranks] : log.rings) rings[std::to_string(channel)] = ranks;
  json hosts = json::object();
  for (const auto& [host, ranks] : log.ranks_of_host) hosts[host]["ranks"] = ranks;
  for (const auto& [host, used] : log.adapters_of_host) {
    hosts[host]["sending"] = used.sending;
    hosts[host]["receiving"] = used.receiving;
  }
  return {{"version", log.version},
          {"network", log.network},
          {"ranks", log.ranks},
          {"hosts", hosts},
          {"adapters", log.adapters},
          {"adapters_in_use", adapters_in_use(log)},
          {"channels", log.channels},
          {"rings", rings},
          {"with_gpudirect", log.with_gpudirect},
          {"without_gpudirect", log.without_gpudirect},
          {"inside", log.inside},
          {"variables", log.variables},
          {"remarks", remarks(log)},
          {"options", told}};
}

std::string ranks_text(const std::vector<int>& ranks) {
  const size_t shown = std::min(ranks.size(), kRanksShown);
  return fmt::format("{}{}",
                     fmt::join(ranks.begin(), ranks.begin() + static_cast<long>(shown), " "),
                     shown < ranks.size() ? " ..." : "");
}

// Rings of one order together.
void print_rings(const NcclLog& log) {
  std::map<std::vector<int>, std::vector<int>> channels;
  for (const auto& [channel, ranks] : log.rings) channels[ranks].push_back(channel);
  for (const auto& [ranks, of] : channels)
    fmt::print("ring         {} (channel{} {})\n", ranks_text(ranks), of.size() == 1 ? "" : "s",
               fmt::join(of, ", "));
}

void print_text(const NcclLog& log, const std::vector<OptionToTell>& options) {
  std::set<size_t> sizes;
  size_t found = 0;
  for (const auto& [host, ranks] : log.ranks_of_host) {
    sizes.insert(ranks.size());
    found += ranks.size();
  }
  fmt::print("NCCL {}: {} ranks", log.version.empty() ? "of unknown version" : log.version,
             log.ranks);
  const size_t nodes = log.ranks_of_host.size();
  if (found == static_cast<size_t>(log.ranks))
    fmt::print(", {} on {}", fmt::join(sizes, " or "),
               nodes == 1 ? "one node" : fmt::format("each of {} nodes", nodes));
  else
    fmt::print(", of which the log has {}, on {} node{}", found, nodes, nodes == 1 ? "" : "s");
  fmt::print("{}\n", log.network.empty() ? "" : ", network " + log.network);
  if (!log.adapters.empty())
    fmt::print(
        "adapters     {}; {} in use at a time, {} connections with GPUDirect and {} without\n",
        fmt::join(log.adapters, ", "), adapters_in_use(log), log.with_gpudirect,
        log.without_gpudirect);
  if (log.channels > 0) fmt::print("channels     {}\n", log.channels);
  print_rings(log);
  for (const auto& [kind, count] : log.inside)
    fmt::print("in a node    {} connections by {}\n", count, kind);
  for (const auto& [name, value] : log.variables) fmt::print("variable     {}={}\n", name, value);
  for (const std::string& remark : remarks(log)) fmt::print("note: {}\n", remark);
  for (const OptionToTell& one : options)
    fmt::print("to predict so: {} ({})\n", one.option, one.why);
}

void read_log(const StackLogOptions& options) {
  const NcclLog log = read_nccl_log(read_input_text(options.file, kLogBytesMax), options.file);
  std::optional<Platform> platform;
  if (!options.platform.empty()) platform = load_platform(options.platform);
  const std::vector<OptionToTell> tell = options_of(log, platform);
  if (options.json)
    fmt::print("{}\n", to_json(log, tell).dump(2));
  else
    print_text(log, tell);
}

}  // namespace

void add_stack_log(Subcommand stack) {
  auto options = std::make_shared<StackLogOptions>();
  Subcommand verb = add_verb(
      stack, {.name = "log",
              .summary = "What a log of NCCL_DEBUG=INFO says: adapters, channels, rings",
              .examples = {"stack log nccl.txt", "stack log nccl.txt --platform dgx-a100"}});
  verb.add_option("FILE", options->file, "What NCCL wrote, of all ranks or of some")
      .required()
      .expected(1);
  verb.add_option("--platform", options->platform,
                  "Say too which share of its adapters is in use (--network-scale)");
  verb.add_flag("--json", options->json, "Print JSON for machines");
  verb.callback([options] { read_log(*options); });
}

}  // namespace forescale
