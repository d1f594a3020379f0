// A testbed's options in numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "calibrate/testbed/testbed.hpp"

namespace forescale {
namespace {

constexpr int kHostsMax = 64;
constexpr size_t kNameLengthMax = 8;  // with host number and prefix it is a name in /run/netns
constexpr BytesPerSecond kRateMin{1e6 / 8};
constexpr BytesPerSecond kRateMax{10e9 / 8};

void check_name(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
  });
  if (name.empty() || name.size() > kNameLengthMax || !is_plain)
    refuse("--name", name.empty() ? "\"\"" : name,
           fmt::format("must be 1 to {} small letters and digits", kNameLengthMax));
}

BytesPerSecond checked_rate(BytesPerSecond rate, const std::string& option,
                            const std::string& text) {
  if (rate < kRateMin || rate > kRateMax)
    refuse(option, text, "must be from 1mbit to 10gbit: slower or faster ones are not shaped well");
  return rate;
}

// "A=B" with the A that is wanted.
std::string value_behind(const std::string& text, const std::string& key,
                         const std::string& topology) {
  if (!text.starts_with(key + "="))
    refuse("--topology", topology, fmt::format("\"{}\" must begin with {}=", text, key));
  return text.substr(key.size() + 1);
}

void split_switches(const TestbedSpec& spec, const std::string& arguments,
                    TestbedNetwork& network) {
  if (spec.hosts < 2) refuse("--topology", spec.topology, "two switches need at least 2 hosts");
  if (arguments.empty())
    refuse("--topology", spec.topology, "needs the trunk's rate: two-switches:trunk=300mbit");
  network.trunk_rate =
      checked_rate(parse_rate(value_behind(arguments, "trunk", spec.topology), "--topology trunk"),
                   "--topology", spec.topology);
  const auto on_first = static_cast<std::ptrdiff_t>((spec.hosts + 1) / 2);
  std::fill(network.host_switch.begin() + on_first, network.host_switch.end(), 1);
}

void slow_host(const TestbedSpec& spec, const std::string& text, TestbedNetwork& network) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos)
    refuse("--topology", spec.topology,
           fmt::format("\"{}\" must be a host and its rate, such as 3:100mbit", text));
  const std::int64_t host = parse_integer(text.substr(0, colon), "--topology slow-host");
  if (host < 0 || host >= spec.hosts)
    refuse("--topology", spec.topology,
           fmt::format("host {} must be one of 0 to {}", host, spec.hosts - 1));
  const BytesPerSecond rate = checked_rate(
      parse_rate(text.substr(colon + 1), "--topology slow-host"), "--topology", spec.topology);
  BytesPerSecond& slot = network.host_rate[static_cast<size_t>(host)];
  if (slot != spec.rate)
    refuse("--topology", spec.topology, fmt::format("host {} is given twice", host));
  if (rate >= spec.rate)
    refuse("--topology", spec.topology, fmt::format("host {} must be slower than --rate", host));
  slot = rate;
}

void slow_hosts(const TestbedSpec& spec, std::string arguments, TestbedNetwork& network) {
  if (arguments.empty())
    refuse("--topology", spec.topology, "needs a host and its rate: slow-host=3:100mbit");
  while (true) {
    const size_t comma = std::min(arguments.find(','), arguments.size());
    slow_host(spec, arguments.substr(0, comma), network);
    if (comma == arguments.size()) return;
    arguments.erase(0, comma + 1);
    while (arguments.starts_with(' ')) arguments.erase(0, 1);
  }
}

}  // namespace

BytesPerSecond parse_rate(const std::string& text, const std::string& option) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kUnits{
      {{"kbit", "kbit/s"}, {"mbit", "Mbit/s"}, {"gbit", "Gbit/s"}}};
  for (const auto& [tc, ours] : kUnits)
    if (text.ends_with(tc))
      return parse_bandwidth(text.substr(0, text.size() - tc.size()) + std::string(ours), option);
  return parse_bandwidth(text, option);
}

TestbedNetwork testbed_network(const TestbedSpec& spec) {
  check_name(spec.name);
  if (spec.hosts < 1 || spec.hosts > kHostsMax)
    refuse("--hosts", fmt::format("{}", spec.hosts), fmt::format("must be 1 to {}", kHostsMax));
  checked_rate(spec.rate, "--rate", to_text(spec.rate));
  const auto host_count = static_cast<size_t>(spec.hosts);
  TestbedNetwork network{.host_rate = std::vector<BytesPerSecond>(host_count, spec.rate),
                         .host_switch = std::vector<int>(host_count, 0),
                         .trunk_rate = {}};
  constexpr std::string_view kSlow = "slow-host";
  const std::string kind = spec.topology.substr(0, spec.topology.find_first_of(":="));
  const std::string rest = spec.topology.substr(std::min(kind.size() + 1, spec.topology.size()));
  if (kind == "two-switches")
    split_switches(spec, rest, network);
  else if (kind == kSlow)
    slow_hosts(spec, rest, network);
  else if (spec.topology != "star")
    refuse("--topology", spec.topology.empty() ? "\"\"" : spec.topology,
           kind == "star" ? "star takes no arguments"
                          : unknown_name(kind, {"star", "two-switches", std::string(kSlow)}));
  return network;
}

}  // namespace forescale
