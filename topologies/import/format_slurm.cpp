// Slurm's topology.conf: SwitchName= with Nodes= or Switches=, lists as in node[01-16,20];
// BlockName= with Nodes= of topology/block. It counts no cables and gives no speeds (LinkSpeed is
// for people). `scontrol show topology` prints the same words.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "base/error.hpp"
#include "topologies/import/platform_format.hpp"

namespace forescale {
namespace {

constexpr size_t kNamesMax = 1 << 20;

// "a[1-3]b[7,09]" -> a1b7, a1b09, a2b7, ...
class HostList {
 public:
  HostList(std::string at, const std::string& text) : at_(std::move(at)), text_(text) {}

  std::vector<std::string> names() {
    std::vector<std::string> all;
    size_t begin = 0;
    int depth = 0;
    for (size_t i = 0; i <= text_.size(); ++i) {
      if (i < text_.size() && text_[i] == '[') ++depth;
      if (i < text_.size() && text_[i] == ']') --depth;
      if (depth < 0 || depth > 1) fail("has a bracket too many");
      if (i < text_.size() && (text_[i] != ',' || depth > 0)) continue;
      if (i > begin) expand("", text_.substr(begin, i - begin), all);
      begin = i + 1;
    }
    if (depth != 0) fail("has a bracket that is not closed");
    return all;
  }

 private:
  [[noreturn]] void fail(const std::string& constraint) const { refuse(at_, text_, constraint); }

  void expand(const std::string& head, const std::string& rest, std::vector<std::string>& all) {
    const size_t open = rest.find('[');
    if (open == std::string::npos) {
      if (all.size() >= kNamesMax) fail(fmt::format("must not name more than {}", kNamesMax));
      all.push_back(head + rest);
      return;
    }
    const size_t close = rest.find(']', open);
    if (close == std::string::npos) fail("has a bracket that is not closed");
    std::istringstream ranges(rest.substr(open + 1, close - open - 1));
    for (std::string range; std::getline(ranges, range, ',');) {
      const size_t dash = range.find('-');
      const std::string low = range.substr(0, dash);
      const std::int64_t from = number(low);
      const std::int64_t to = dash == std::string::npos ? from : number(range.substr(dash + 1));
      if (to < from) fail(fmt::format("{} must go upwards", range));
      if (to - from >= static_cast<std::int64_t>(kNamesMax))
        fail(fmt::format("must not name more than {}", kNamesMax));
      for (std::int64_t i = from; i <= to; ++i)
        expand(head + rest.substr(0, open) + fmt::format("{:0{}}", i, low.size()),
               rest.substr(close + 1), all);
    }
  }

  std::int64_t number(const std::string& digits) const {
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 0 ||
        digits.size() > 9)
      fail(fmt::format("{} must be a number", digits.empty() ? "nothing in brackets" : digits));
    return value;
  }

  std::string at_;
  const std::string& text_;
};

struct SlurmSwitch {
  std::string at;
  std::vector<std::string> nodes;
  std::vector<std::string> switches;
};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// "SwitchName=s0 Nodes=n[0-3]" -> {switchname: s0, nodes: n[0-3]}.
std::map<std::string, std::string> keys_of_line(const std::string& line) {
  std::istringstream in(line.substr(0, line.find('#')));
  std::map<std::string, std::string> keys;
  for (std::string word; in >> word;)
    if (const size_t equals = word.find('='); equals != std::string::npos)
      keys[lower_case(word.substr(0, equals))] = word.substr(equals + 1);
  return keys;
}

std::map<std::string, SlurmSwitch> read_switches(const PlatformInput& input, bool& has_blocks) {
  std::map<std::string, SlurmSwitch> switches;
  std::istringstream in(input.text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string at = fmt::format("{}:{}", input.file, ++number);
    auto keys = keys_of_line(line);
    const bool is_block = keys.contains("blockname");
    if (!is_block && !keys.contains("switchname")) continue;
    has_blocks = has_blocks || is_block;
    const std::string& name = keys[is_block ? "blockname" : "switchname"];
    if (!keys.contains("nodes") && !keys.contains("switches"))
      refuse(at, name, "must have Nodes= or Switches=");
    for (const std::string& each : HostList(at, name).names()) {
      SlurmSwitch& entry = switches[each];
      if (!entry.at.empty()) refuse(at, each, "is there already: " + entry.at);
      entry.at = at;
      entry.nodes = HostList(at, keys["nodes"]).names();
      entry.switches = HostList(at, keys["switches"]).names();
      // scontrol lists the nodes of all switches below, too.
      if (!entry.switches.empty()) entry.nodes.clear();
    }
  }
  return switches;
}

void import_slurm(const PlatformInput& input, const PlatformChoices& /*choices*/,
                  PlatformDraft& draft) {
  bool has_blocks = false;
  const std::map<std::string, SlurmSwitch> switches = read_switches(input, has_blocks);
  if (switches.empty()) refuse(input.file, "", "has no SwitchName= or BlockName= line");
  DraftFabric fabric{.file = input.name()};
  fabric.switches.counts_cables = false;
  std::map<std::string, int> numbers;
  std::map<std::string, std::string> leaf_of;
  for (const auto& [name, entry] : switches) {
    const int number = numbers[name] = fabric.switches.add(name);
    for (const std::string& node : entry.nodes) {
      const auto [other, is_new] = leaf_of.emplace(node, name);
      if (!is_new)
        refuse(entry.at, node, fmt::format("is on two switches, {} and {}", other->second, name));
      fabric.switches.nodes[static_cast<size_t>(number)].push_back(fabric.nodes++);
    }
  }
  if (has_blocks && switches.size() > 1) {
    const int top = fabric.switches.add("top");
    for (const auto& [name, number] : numbers) fabric.switches.add_cables(number, top, 1);
    draft.assumed.push_back("blocks of " + input.name() +
                            " are leaves below one level of switches");
  }
  for (const auto& [name, entry] : switches)
    for (const std::string& below : entry.switches) {
      const auto known = numbers.find(below);
      if (known == numbers.end()) refuse(entry.at, below, "is a switch without a line of its own");
      if (known->second == numbers[name]) refuse(entry.at, below, "is below itself");
      fabric.switches.add_cables(numbers[name], known->second, 1);
    }
  draft.set_fabric(std::move(fabric));
}

bool is_slurm(const std::string& text) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto keys = keys_of_line(line);
    if (keys.contains("switchname") || keys.contains("blockname")) return true;
  }
  return false;
}

const bool kSlurmRegistered =
    Registry<PlatformFormat>::add({.name = "slurm",
                                   .description = "Slurm's topology.conf, of trees and of blocks",
                                   .detects = is_slurm,
                                   .import = import_slurm});

}  // namespace
}  // namespace forescale
