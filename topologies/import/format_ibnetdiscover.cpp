// What ibnetdiscover prints: a paragraph for each switch and channel adapter, a line for each of
// its cables. Both ends list a cable; those of switches are taken.
//
//   Switch  36 "S-0002c9..."    # "name" base port 0 lid 48 lmc 0
//   [1]  "H-506b4b..."[1](506b4b...)   # "node018 HCA-1" lid 67 4xEDR
//
// A node is the first word of an adapter's description; adapters that tell their product's name in
// place of a host's are nodes of their own. Adapters of switches themselves (Aggregation Node,
// SHARP) are no nodes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "base/error.hpp"
#include "topologies/import/link_classes.hpp"
#include "topologies/import/platform_format.hpp"

namespace forescale {
namespace {

// Data of 4 lanes, Gbit/s (InfiniBand Architecture Specification).
constexpr std::array<std::pair<const char*, double>, 9> kInfiniBandSpeeds{{{"SDR", 8},
                                                                           {"DDR", 16},
                                                                           {"QDR", 32},
                                                                           {"FDR10", 40},
                                                                           {"FDR", 54},
                                                                           {"EDR", 100},
                                                                           {"HDR", 200},
                                                                           {"NDR", 400},
                                                                           {"XDR", 800}}};

// "4xHDR" -> 200; 0: none.
double gigabits_of(const std::string& word) {
  const size_t times = word.find('x');
  if (times == std::string::npos || times == 0) return 0;
  int lanes = 0;
  for (size_t i = 0; i < times; ++i) {
    if (std::isdigit(static_cast<unsigned char>(word[i])) == 0 || lanes > 12) return 0;
    lanes = 10 * lanes + (word[i] - '0');
  }
  constexpr int kLanes = 4;
  for (const auto& [name, gigabits] : kInfiniBandSpeeds)
    if (word.substr(times + 1) == name) return gigabits * lanes / kLanes;
  return 0;
}

// The text in the quotes that follow; `from` moves behind them.
std::string quoted_text(const std::string& line, size_t& from) {
  const size_t open = line.find('"', from);
  if (open == std::string::npos) return "";
  const size_t close = line.find('"', open + 1);
  if (close == std::string::npos) return "";
  from = close + 1;
  return line.substr(open + 1, close - open - 1);
}

class SubnetReader {
 public:
  SubnetReader(const PlatformInput& input, PlatformDraft& draft)
      : input_(input), draft_(draft), fabric_{.file = input.name()} {}

  void read();

 private:
  void read_heads();
  void read_switch_line(const std::string& line, int number);
  void add_adapter(int leaf, const std::string& guid, const std::string& description);
  std::string at(int number) const { return fmt::format("{}:{}", input_.file, number); }

  const PlatformInput& input_;
  PlatformDraft& draft_;
  DraftFabric fabric_;
  std::map<std::string, int> switches_;                       // by "S-guid"
  std::map<std::pair<int, int>, int> cables_;                 // as each end lists them
  std::map<std::string, std::vector<std::string>> adapters_;  // of a node
  std::map<std::string, int> node_numbers_;
  std::map<double, int> speeds_;        // of adapters' cables
  std::map<double, int> speeds_above_;  // of cables between switches
  int current_ = -1;                    // switch whose cables follow
  int skipped_ = 0;
  int nameless_ = 0;  // adapters without a host's name
};

void SubnetReader::read_heads() {
  std::istringstream in(input_.text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.starts_with("Switch")) continue;
    size_t from = 0;
    const std::string guid = quoted_text(line, from);
    const std::string name = quoted_text(line, from);
    if (!guid.starts_with("S-")) refuse(at(number), line, "must name a switch as \"S-guid\"");
    if (switches_.contains(guid)) refuse(at(number), guid, "is there already");
    switches_[guid] = fabric_.switches.add(name.empty() ? guid : name);
  }
}

bool names_no_host(const std::string& description) {
  for (const char* product : {"Mellanox Technologies", "InfiniHost", "ConnectX", "Connect-IB"})
    if (description.find(product) != std::string::npos) return true;
  return false;
}

void SubnetReader::add_adapter(int leaf, const std::string& guid, const std::string& description) {
  if (description.find("Aggregation Node") != std::string::npos ||
      description.find("SHARP") != std::string::npos) {
    ++skipped_;
    return;
  }
  const bool is_nameless = names_no_host(description);
  nameless_ += is_nameless ? 1 : 0;
  const std::string node = is_nameless ? guid : description.substr(0, description.find(' '));
  const auto [known, is_new] = node_numbers_.emplace(node, static_cast<int>(node_numbers_.size()));
  adapters_[node].push_back(description);
  fabric_.switches.nodes[static_cast<size_t>(leaf)].push_back(known->second);
}

// [1]  "H-..."[1](...)  # "node018 HCA-1" lid 67 4xEDR
void SubnetReader::read_switch_line(const std::string& line, int number) {
  size_t from = 0;
  const std::string peer = quoted_text(line, from);
  const std::string description = quoted_text(line, from);
  if (peer.size() < 3 || (description.empty() && peer[0] == 'H'))
    refuse(at(number), line, "must be [port] \"peer\"[port] # \"name\" lid N: is it cut off?");
  double gigabits = 0;
  std::istringstream rest(line.substr(from));
  for (std::string word; rest >> word;) gigabits = std::max(gigabits, gigabits_of(word));
  if (peer.starts_with("S-")) {
    const auto known = switches_.find(peer);
    if (known == switches_.end())
      refuse(at(number), peer, "is a switch without a paragraph of its own: is the file cut off?");
    ++cables_[{current_, known->second}];
    ++speeds_above_[gigabits];
  } else if (peer.starts_with("H-")) {
    add_adapter(current_, peer, description);
    ++speeds_[gigabits];
  } else {
    ++skipped_;  // routers
  }
}

void SubnetReader::read() {
  read_heads();
  std::istringstream in(input_.text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("Switch")) {
      size_t from = 0;
      current_ = switches_.at(quoted_text(line, from));
    } else if (!line.starts_with("[")) {
      current_ = -1;
    } else if (current_ >= 0) {
      read_switch_line(line, number);
    }
  }
  if (node_numbers_.empty()) refuse(input_.file, "", "has no switch with an adapter on it");
  for (const auto& [ends, count] : cables_) {
    const auto back = cables_.find({ends.second, ends.first});
    const auto& names = fabric_.switches.names;
    if (ends.first != ends.second && (back == cables_.end() || back->second != count))
      refuse(input_.file,
             fmt::format("{} - {}", names[static_cast<size_t>(ends.first)],
                         names[static_cast<size_t>(ends.second)]),
             fmt::format("has {} cables by one end, {} by the other", count,
                         back == cables_.end() ? 0 : back->second));
    if (ends.first < ends.second) fabric_.switches.add_cables(ends.first, ends.second, count);
  }
  size_t most = 0;
  for (const auto& [node, list] : adapters_) most = std::max(most, list.size());
  int unlike = 0;
  for (const auto& [node, list] : adapters_) unlike += list.size() != most ? 1 : 0;
  if (unlike > 0)
    draft_.assumed.push_back(fmt::format(
        "{} of {} nodes of {} have fewer than {} adapters (logins, storage): taken like the others",
        unlike, adapters_.size(), input_.name(), most));
  if (nameless_ > 0)
    draft_.assumed.push_back(fmt::format(
        "{} adapters of {} do not tell their host's name: a node each", nameless_, input_.name()));
  if (skipped_ > 0)
    draft_.assumed.push_back(fmt::format("{} ends of {} that are switches' own or routers left out",
                                         skipped_, input_.name()));
  fabric_.nodes = static_cast<int>(node_numbers_.size());
  fabric_.adapters = static_cast<int>(most);
  const auto usual =
      std::max_element(speeds_.begin(), speeds_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (usual->first > 0) {
    fabric_.link = adapter_class(draft_, AdapterKind::kInfiniBand, usual->first);
    draft_.sources.push_back(
        fmt::format("link of an adapter: {:g} Gbit/s, {}", usual->first, input_.name()));
  }
  if (speeds_.size() > 1)
    draft_.assumed.push_back(
        fmt::format("adapters run at {} speeds: the commonest is taken", speeds_.size()));
  for (const auto& [gigabits, count] : speeds_above_)
    if (gigabits > 0 && gigabits != usual->first)
      draft_.assumed.push_back(
          fmt::format("{} ends of cables between switches run at {:g} Gbit/s: taken like those of "
                      "adapters",
                      count, gigabits));
  draft_.set_fabric(std::move(fabric_));
}

bool is_ibnetdiscover(const std::string& text) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    size_t from = 0;
    if (line.starts_with("Switch") && quoted_text(line, from).starts_with("S-")) return true;
  }
  return false;
}

const bool kIbnetdiscoverRegistered = Registry<PlatformFormat>::add(
    {.name = "ibnetdiscover",
     .description = "what ibnetdiscover prints of an InfiniBand fabric",
     .detects = is_ibnetdiscover,
     .import = [](const PlatformInput& input, const PlatformChoices& /*choices*/,
                  PlatformDraft& draft) { SubnetReader(input, draft).read(); }});

}  // namespace
}  // namespace forescale
