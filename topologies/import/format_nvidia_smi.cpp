// What `nvidia-smi topo -m` prints: for each pair of GPUs and adapters, what is between them.
//
//   NV18  NVLinks                       PXB   several PCIe bridges: an upper switch
//   PIX   one PCIe bridge: a switch     PHB, NODE  the host's, of one NUMA node     SYS  both
//   nodes'
//
// The tree that makes these: a switch for each set of devices that PIX joins, an upper switch for
// each that PXB joins besides, a CPU for each NUMA node. GPU, PCIe generation and speeds are not
// in it. Rows of adapters repeat what those of GPUs say and may be missing.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <sstream>

#include "base/error.hpp"
#include "topologies/import/known_hardware.hpp"
#include "topologies/import/platform_format.hpp"

namespace forescale {
namespace {

constexpr size_t kColumnsMax = 256;

// Underlined headings of terminals.
std::string without_escapes(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) == 0) ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> words_of_line(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool is_gpu_name(const std::string& word) {
  return word.starts_with("GPU") && word.size() > 3 &&
         std::all_of(word.begin() + 3, word.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_heading(const std::vector<std::string>& words) {
  return words.size() >= 2 && words[0] == "GPU0" &&
         (is_gpu_name(words[1]) || words[1] == "CPU" || words[1].starts_with("NIC") ||
          words[1].starts_with("mlx"));
}

class TopologyMatrix {
 public:
  TopologyMatrix(const PlatformInput& input, PlatformDraft& draft)
      : input_(input), draft_(draft), node_{.file = input.name()} {}

  void read(const std::string& gpu);

 private:
  enum Distance { kNvlink, kBridge, kBridges, kSameNuma, kSystem };
  void read_rows();
  void read_row(const std::vector<std::string>& words, const std::string& line);
  void check_symmetry() const;
  void find_sockets();
  void choose_adapters();
  void build_tree();
  void add_nvlinks(const std::string& gpu);
  const std::string& cell(size_t a, size_t b) const;
  Distance distance(size_t a, size_t b) const;
  bool is_gpu(size_t column) const { return is_gpu_name(names_[column]); }
  std::string device_name(size_t column) const;
  std::string where(size_t column) const {
    return fmt::format("{} row {}", input_.name(), names_[column]);
  }

  const PlatformInput& input_;
  PlatformDraft& draft_;
  DraftNode node_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> cells_;  // of each column's row; empty: no row
  std::vector<std::string> numa_;                // of each row, or its CPUs; empty: not said
  std::vector<int> socket_;
  std::vector<bool> is_chosen_;
  bool has_numa_column_ = false;
};

void TopologyMatrix::read_row(const std::vector<std::string>& words, const std::string& line) {
  const auto column = std::find(names_.begin(), names_.end(), words[0]);
  if (column == names_.end()) return;
  const auto row = static_cast<size_t>(column - names_.begin());
  if (words.size() < names_.size() + 1)
    refuse(line, words[0],
           fmt::format("must have {} cells, as the heading has, not {}", names_.size(),
                       words.size() - 1));
  if (!cells_[row].empty()) refuse(line, words[0], "must not have two rows");
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::string& word = words[i + 1];
    const bool is_known = word == "X" || word == "PIX" || word == "PXB" || word == "PHB" ||
                          word == "NODE" || word == "SYS" || word == "SOC";
    int links = 0;
    const bool is_nvlink = word.starts_with("NV") &&
                           std::from_chars(word.data() + 2, word.data() + word.size(), links).ptr ==
                               word.data() + word.size() &&
                           links >= 1 && links <= 99;
    if ((!is_known && !is_nvlink) || (word == "X") != (i == row))
      refuse(line, word,
             fmt::format("of {} and {} must be X on the diagonal, elsewhere NV1 to NV99, PIX, PXB, "
                         "PHB, NODE or SYS",
                         words[0], names_[i]));
  }
  cells_[row].assign(words.begin() + 1,
                     words.begin() + 1 + static_cast<std::ptrdiff_t>(names_.size()));
  const size_t cpus = names_.size() + 1;
  const size_t numa = cpus + (has_numa_column_ ? 1 : 0);
  if (numa < words.size() && words[numa] != "N/A") numa_[row] = words[numa];
}

void TopologyMatrix::read_rows() {
  std::istringstream in(without_escapes(input_.text));
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<std::string> words = words_of_line(line);
    if (words.empty()) continue;
    const std::string at = fmt::format("{}:{}", input_.file, number);
    if (names_.empty()) {
      if (!is_heading(words)) continue;
      for (const std::string& word : words) {
        if (word == "CPU" || word == "NUMA") break;
        if (std::find(names_.begin(), names_.end(), word) != names_.end())
          refuse(at, word, "must not be there twice");
        names_.push_back(word);
      }
      if (names_.size() > kColumnsMax)
        refuse(at, "", fmt::format("must not have more than {} columns", kColumnsMax));
      has_numa_column_ = line.find("NUMA Affinity") != std::string::npos;
      cells_.resize(names_.size());
      numa_.resize(names_.size());
    } else if (words[0] == "Legend:") {
      break;
    } else {
      read_row(words, at);
    }
  }
  for (size_t i = 0; i < names_.size(); ++i)
    if (is_gpu(i) && cells_[i].empty())
      refuse(input_.file, names_[i], "has no row: is the output cut off?");
}

// The pair's, of the row that is there.
const std::string& TopologyMatrix::cell(size_t a, size_t b) const {
  static const std::string kUnknown = "SYS";
  if (!cells_[a].empty()) return cells_[a][b];
  return cells_[b].empty() ? kUnknown : cells_[b][a];
}

TopologyMatrix::Distance TopologyMatrix::distance(size_t a, size_t b) const {
  const std::string& word = cell(a, b);
  if (word.starts_with("NV")) return kNvlink;
  if (word == "PIX") return kBridge;
  if (word == "PXB") return kBridges;
  return word == "PHB" || word == "NODE" ? kSameNuma : kSystem;
}

void TopologyMatrix::check_symmetry() const {
  for (size_t a = 0; a < names_.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      if (!cells_[a].empty() && !cells_[b].empty() && cells_[a][b] != cells_[b][a])
        refuse(input_.file, cells_[a][b],
               fmt::format("of {} and {} must be what {} and {} have: {}", names_[a], names_[b],
                           names_[b], names_[a], cells_[b][a]));
}

// By the NUMA column; adapters are where a GPU is that is no SYS away.
void TopologyMatrix::find_sockets() {
  std::vector<std::string> known;
  socket_.assign(names_.size(), 0);
  const bool says = std::any_of(numa_.begin(), numa_.end(),
                                [](const std::string& each) { return !each.empty(); });
  if (!says) draft_.assumed.push_back("one CPU: " + input_.name() + " names no NUMA node");
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!is_gpu(i) || numa_[i].empty()) continue;
    auto at = std::find(known.begin(), known.end(), numa_[i]);
    if (at == known.end()) at = known.insert(known.end(), numa_[i]);
    socket_[i] = static_cast<int>(at - known.begin());
  }
  for (size_t i = 0; i < names_.size(); ++i) {
    if (is_gpu(i)) continue;
    for (size_t gpu = 0; gpu < names_.size(); ++gpu)
      if (is_gpu(gpu) && distance(i, gpu) != kSystem) {
        socket_[i] = socket_[gpu];
        break;
      }
  }
  for (size_t i = 0; i < std::max<size_t>(known.size(), 1); ++i)
    node_.devices.push_back({.name = fmt::format("cpu{}", i),
                             .kind = DeviceKind::kCpu,
                             .socket = static_cast<int>(i),
                             .source = known.empty() ? "" : input_.name() + " NUMA " + known[i]});
}

// Adapters beside GPUs, where there are some: the others are for storage and management.
void TopologyMatrix::choose_adapters() {
  is_chosen_.assign(names_.size(), true);
  const auto is_beside = [&](size_t adapter) {
    for (size_t gpu = 0; gpu < names_.size(); ++gpu)
      if (is_gpu(gpu) && (distance(adapter, gpu) == kBridge || distance(adapter, gpu) == kBridges))
        return true;
    return false;
  };
  bool any = false;
  for (size_t i = 0; i < names_.size(); ++i) any = any || (!is_gpu(i) && is_beside(i));
  if (!any) return;
  std::string left;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (is_gpu(i) || is_beside(i)) continue;
    is_chosen_[i] = false;
    left += (left.empty() ? "" : ", ") + names_[i];
  }
  if (!left.empty())
    draft_.assumed.push_back(left +
                             " left out: the fabric is that of adapters on a PCIe switch "
                             "with a GPU");
}

std::string TopologyMatrix::device_name(size_t column) const {
  if (is_gpu(column)) return "gpu" + names_[column].substr(3);
  int before = 0;
  for (size_t i = 0; i < column; ++i) before += !is_gpu(i) && is_chosen_[i] ? 1 : 0;
  return fmt::format("nic{}", before);
}

void TopologyMatrix::build_tree() {
  const size_t count = names_.size();
  // Sets that PIX joins, and those that PIX or PXB joins. NVLink hides what is below it: GPUs meet
  // in a set by an adapter that is in it.
  const auto sets_of = [&](Distance up_to) {
    std::vector<size_t> set(count);
    std::iota(set.begin(), set.end(), 0);
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b) {
        const Distance between = a == b ? kSystem : distance(a, b);
        if (!is_chosen_[a] || !is_chosen_[b] || between == kNvlink || between > up_to) continue;
        const size_t from = std::max(set[a], set[b]);
        const size_t to = std::min(set[a], set[b]);
        std::replace(set.begin(), set.end(), from, to);
      }
    return set;
  };
  const std::vector<size_t> lower = sets_of(kBridge);
  const std::vector<size_t> upper = sets_of(kBridges);
  const auto members = [&](const std::vector<size_t>& set, size_t of) {
    return std::count(set.begin(), set.end(), set[of]);
  };
  std::map<size_t, std::string> lower_switch;
  std::map<size_t, std::string> upper_switch;
  int switches = 0;
  const auto add_switch = [&](size_t column, const std::string& parent) {
    std::string name = fmt::format("switch{}", switches++);
    node_.devices.push_back({.name = name,
                             .kind = DeviceKind::kPcieSwitch,
                             .socket = socket_[column],
                             .source = where(column)});
    node_.links.push_back({.from = parent, .to = name, .source = where(column)});
    return name;
  };
  std::vector<DraftDevice> ends;
  for (size_t i = 0; i < count; ++i) {
    if (!is_chosen_[i]) continue;
    std::string parent = fmt::format("cpu{}", socket_[i]);
    if (members(upper, i) > members(lower, i)) {
      std::string& name = upper_switch[upper[i]];
      if (name.empty()) name = add_switch(i, parent);
      parent = name;
    }
    if (members(lower, i) > 1) {
      std::string& name = lower_switch[lower[i]];
      if (name.empty()) name = add_switch(i, parent);
      parent = name;
    }
    ends.push_back({.name = device_name(i),
                    .kind = is_gpu(i) ? DeviceKind::kGpu : DeviceKind::kNic,
                    .socket = socket_[i],
                    .source = where(i)});
    node_.links.push_back({.from = parent, .to = device_name(i), .source = where(i)});
  }
  node_.devices.insert(node_.devices.end(), ends.begin(), ends.end());
}

// More NVLinks to all others than a GPU has: they go to switches.
void TopologyMatrix::add_nvlinks(const std::string& gpu) {
  node_.says_nvlinks = true;
  const auto kind = gpu.empty() ? std::nullopt : nvlinks_of_gpu(gpu);
  for (size_t a = 0; a < names_.size(); ++a) {
    if (!is_gpu(a)) continue;
    int total = 0;
    int most = 0;
    for (size_t b = 0; b < names_.size(); ++b) {
      if (a == b || !is_gpu(b) || distance(a, b) != kNvlink) continue;
      const int links = std::stoi(cells_[a][b].substr(2));
      total += links;
      most = std::max(most, links);
    }
    if (kind && total > kind->count) {
      if (most > kind->count)
        refuse(input_.file, fmt::format("NV{}", most),
               fmt::format("of {}: {} has {} NVLinks", names_[a], gpu, kind->count));
      node_.nvlinks.push_back(
          {.from = device_name(a), .to = "nvswitch", .count = most, .source = where(a)});
      continue;
    }
    for (size_t b = a + 1; b < names_.size(); ++b)
      if (is_gpu(b) && distance(a, b) == kNvlink)
        node_.nvlinks.push_back({.from = device_name(a),
                                 .to = device_name(b),
                                 .count = std::stoi(cells_[a][b].substr(2)),
                                 .source = where(a)});
  }
}

void TopologyMatrix::read(const std::string& gpu) {
  read_rows();
  check_symmetry();
  find_sockets();
  choose_adapters();
  build_tree();
  add_nvlinks(gpu);
  draft_.set_node(std::move(node_));
}

void import_nvidia_smi(const PlatformInput& input, const PlatformChoices& choices,
                       PlatformDraft& draft) {
  TopologyMatrix(input, draft).read(choices.gpu);
}

bool is_nvidia_smi(const std::string& text) {
  std::istringstream in(without_escapes(text.substr(0, 1 << 16)));
  for (std::string line; std::getline(in, line);)
    if (is_heading(words_of_line(line))) return true;
  return false;
}

const bool kNvidiaSmiRegistered =
    Registry<PlatformFormat>::add({.name = "nvidia-smi",
                                   .description = "what nvidia-smi topo -m prints",
                                   .detects = is_nvidia_smi,
                                   .import = import_nvidia_smi});

}  // namespace
}  // namespace forescale
