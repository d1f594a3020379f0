#include "models/nccl_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr std::string_view kMark = " NCCL INFO ";
constexpr int kRanksMax = 1 << 20;
constexpr int kChannelsMax = 1024;

// Reads a text from its front.
class Words {
 public:
  explicit Words(std::string_view rest) : rest_(rest) {}

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // Up to `mark`, and the mark.
  std::optional<std::string_view> take_until(std::string_view mark) {
    const size_t end = rest_.find(mark);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(end + mark.size());
    return taken;
  }

  std::optional<int> take_number(int max) {
    while (take(" ")) {
    }
    int number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc() || number < 0 || number > max) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return number;
  }

  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

struct LogLine {
  std::string host;
  std::string_view message;
};

// "host:pid:thread [device] NCCL INFO message", whatever a launcher wrote before it.
std::optional<LogLine> as_log_line(std::string_view line) {
  const size_t mark = line.find(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  std::string_view before = line.substr(0, mark);
  before = before.substr(0, before.rfind(" ["));
  if (const size_t space = before.find_last_of(" >"); space != std::string_view::npos)
    before.remove_prefix(space + 1);
  return LogLine{.host = std::string(before.substr(0, before.find(':'))),
                 .message = line.substr(mark + kMark.size())};
}

class Reader {
 public:
  void read(const LogLine& line) {
    const std::string_view message = line.message;
    if (Words words(message); words.take("Channel "))
      channel(line.host, words);
    else if (words.take("NET/IB : Using ") || words.take("NET/OFI Using "))
      adapters(words.rest());
    else if (words.take("Using network "))
      log_.network = std::string(words.rest());
    else if (const size_t by = message.find(" set by environment to ");
             by != std::string_view::npos && message.starts_with("NCCL_"))
      variable(message, by);
    else
      communicator(line.host, message);
  }

  NcclLog take() { return std::move(log_); }
  NcclLog& log() { return log_; }

 private:
  // "00/02 :    0   1   2": a ring; "00/0 : 1[1] -> 8[0] [receive] via NET/IB/0/GDRDMA": a
  // connection, older "00 : 31[cb000] -> 0[7000] ...".
  void channel(const std::string& host, Words words) {
    const std::optional<int> number = words.take_number(kChannelsMax);
    if (!number) return;
    int connection = 0;
    if (words.take("/")) {
      const std::optional<int> after = words.take_number(kChannelsMax);
      if (!after) return;
      connection = *after;
    }
    if (!words.take(" :")) return;
    if (words.rest().find("->") == std::string_view::npos) {
      ring(*number, words);
      log_.channels = std::max(log_.channels, connection);  // "of so many"
    } else if (connection == 0) {
      this->connection(host, words);
    }
  }

  void ring(int channel, Words words) {
    std::vector<int> ranks;
    while (const std::optional<int> rank = words.take_number(kRanksMax)) ranks.push_back(*rank);
    if (ranks.size() > log_.rings[channel].size()) log_.rings[channel] = ranks;
  }

  void connection(const std::string& host, Words words) {
    const std::optional<std::string_view> ends = words.take_until(" via ");
    if (!ends) return;
    const std::string_view how = words.rest();
    if (!words.take("NET/")) {
      ++log_.inside[std::string(how.substr(0, how.find_first_of(" \r")))];
      return;
    }
    const bool is_sent = ends->find("[send]") != std::string_view::npos;
    if (!words.take_until("/")) return;
    const std::optional<int> adapter = words.take_number(kChannelsMax);
    if (!adapter) return;
    AdaptersInUse& used = log_.adapters_of_host[host];
    (is_sent ? used.sending : used.receiving).insert(*adapter);
    ++(words.rest().find("GDRDMA") != std::string_view::npos ? log_.with_gpudirect
                                                             : log_.without_gpudirect);
  }

  // "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"
  void adapters(std::string_view list) {
    std::vector<std::string> found;
    Words words(list.substr(0, list.find(" ; OOB")));
    while (words.take_until("[")) {
      const std::optional<int> number = words.take_number(kChannelsMax);
      if (!number || !words.take("]")) continue;
      const std::string_view name = words.rest().substr(0, words.rest().find_first_of(" ;"));
      found.emplace_back(name);
    }
    if (found.size() > log_.adapters.size()) log_.adapters = found;
  }

  // "NCCL_ALGO set by environment to Ring."
  void variable(std::string_view message, size_t by) {
    std::string_view value = message.substr(message.find(" to ", by) + 4);
    while (value.ends_with('.') || value.ends_with(' ') || value.ends_with('\r'))
      value.remove_suffix(1);
    log_.variables[std::string(message.substr(0, by))] = std::string(value);
  }

  // "comm 0x... rank 15 nranks 32 ..."; "24 coll channels, ...".
  void communicator(const std::string& host, std::string_view message) {
    Words words(message);
    if (message.find(" coll channels") != std::string_view::npos) {
      if (const std::optional<int> count = words.take_number(kChannelsMax))
        log_.channels = std::max(log_.channels, *count);
      return;
    }
    if (!words.take_until(" rank ")) return;
    const std::optional<int> rank = words.take_number(kRanksMax);
    if (!rank || !words.take(" nranks ")) return;
    const std::optional<int> ranks = words.take_number(kRanksMax);
    if (!ranks || *rank >= *ranks || *ranks < log_.ranks) return;
    if (*ranks > log_.ranks) log_.ranks_of_host.clear();
    log_.ranks = *ranks;
    log_.ranks_of_host[host].insert(*rank);
  }

  NcclLog log_;
};

int fewest(const NcclLog& log, std::set<int> AdaptersInUse::*direction) {
  size_t least = std::numeric_limits<int>::max();
  for (const auto& [host, used] : log.adapters_of_host)
    least = std::min(least, (used.*direction).size());
  return static_cast<int>(least);
}

bool is_over_tcp(const NcclLog& log) { return log.network == "Socket"; }

}  // namespace

NcclLog read_nccl_log(std::string_view text, const std::string& source) {
  Reader reader;
  bool is_nccls = false;
  constexpr std::string_view kVersion = "NCCL version ";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (const size_t at = line.find(kVersion); at != std::string_view::npos) {
      const std::string_view version = line.substr(at + kVersion.size());
      reader.log().version = std::string(version.substr(0, version.find_first_of("+ \r")));
    }
    const std::optional<LogLine> of_nccl = as_log_line(line);
    if (!of_nccl) continue;
    is_nccls = true;
    reader.read(*of_nccl);
  }
  if (!is_nccls)
    refuse(source, "",
           "has no line of NCCL: run the program with NCCL_DEBUG=INFO in its environment");
  NcclLog log = reader.take();
  if (log.ranks == 0 && log.rings.empty())
    refuse(source, "",
           "tells of no communicator: it ends before NCCL was initialised, or NCCL_DEBUG_SUBSYS "
           "leaves INIT out");
  return log;
}

int adapters_in_use(const NcclLog& log) {
  if (log.adapters_of_host.empty()) return 0;
  return std::min(fewest(log, &AdaptersInUse::sending), fewest(log, &AdaptersInUse::receiving));
}

std::vector<std::string> remarks(const NcclLog& log) {
  std::vector<std::string> found;
  const auto adapters = static_cast<int>(log.adapters.size());
  const int used = adapters_in_use(log);
  if (is_over_tcp(log))
    found.push_back(
        "between nodes all goes through the kernel's TCP (network Socket): no InfiniBand or RoCE "
        "adapter was found, or it is switched off");
  else if (log.without_gpudirect > log.with_gpudirect)
    found.push_back(
        "adapters do not read the GPUs' memory (no GDRDMA): what leaves a node goes through the "
        "host's memory");
  if (used > 0 && used < adapters)
    found.push_back(fmt::format(
        "of {} adapters {} in use at a time: rings between nodes get {:.0f} % of what the node has",
        adapters, used == 1 ? "one is" : fmt::format("{} are", used), 100.0 * used / adapters));
  for (const auto& [kind, count] : log.inside)
    if (kind.starts_with("SHM"))
      found.push_back(
          fmt::format("{} connections in a node go through the host's memory ({}): those GPUs "
                      "cannot reach each other, or NCCL_P2P_DISABLE or NCCL_P2P_LEVEL says so",
                      count, kind));
  return found;
}

}  // namespace forescale
