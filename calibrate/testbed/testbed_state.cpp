#include "calibrate/testbed/testbed_state.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/json_text.hpp"

namespace forescale {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kFolder = "/run/forescale";
constexpr const char* kNamespaces = "/run/netns";
constexpr const char* kNamespaceFiles = "/etc/netns";
constexpr const char* kStateFormat = "forescale-testbed-1";
constexpr std::string_view kPrefix = "testbed-";
constexpr std::string_view kSuffix = ".json";

std::string state_file(const std::string& name) { return testbed_folder(name) + ".json"; }

// "fs-NAME-h12" or "fs-NAME-s0" of this testbed.
bool is_part_of(const std::string& name, const std::string& candidate) {
  const std::string prefix = "fs-" + name + "-";
  if (!candidate.starts_with(prefix) || candidate.size() < prefix.size() + 2) return false;
  const char kind = candidate[prefix.size()];
  return (kind == 'h' || kind == 's') &&
         candidate.find_first_not_of("0123456789", prefix.size() + 1) == std::string::npos;
}

std::vector<std::string> parts_in(const std::string& folder, const std::string& name) {
  std::vector<std::string> parts;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (std::string file = entry.path().filename(); is_part_of(name, file))
      parts.push_back(std::move(file));
  return parts;
}

TestbedState from_json(const json& document) {
  if (document.at("format") != kStateFormat) throw std::runtime_error("another format");
  TestbedState state;
  state.spec = {.name = document.at("name"),
                .hosts = document.at("hosts"),
                .rate = {document.at("rate_bytes_per_s").get<double>()},
                .topology = document.at("topology"),
                .mpi_as_shipped = document.at("mpi_as_shipped")};
  state.network = document.at("network");
  if (const json& owner = document.at("owner"); !owner.is_null())
    state.owner = ProcessIdentity{.pid = owner.at("pid"), .start = owner.at("start")};
  return state;
}

std::optional<TestbedState> load_if_readable(const std::string& name) {
  try {
    return load_testbed_state(name);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// The /24 networks of 10.0.0.0/8 that a route of the machine (but the default one) touches, as
// ranges of first and last address.
std::vector<std::pair<std::uint32_t, std::uint32_t>> routed_ranges() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
  std::ifstream file("/proc/net/route");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string interface;
    std::string skipped;
    std::uint32_t destination = 0;
    std::uint32_t mask = 0;
    fields >> interface >> std::hex >> destination >> skipped >> skipped >> skipped >> skipped >>
        skipped >> mask;
    if (!fields || mask == 0) continue;
    const std::uint32_t first = __builtin_bswap32(destination);  // written as in memory
    ranges.emplace_back(first, first | ~__builtin_bswap32(mask));
  }
  return ranges;
}

int locked_folder() {
  while (true) {
    if (mkdir(kFolder, 0755) != 0 && errno != EEXIST)
      throw TestbedError(fmt::format("mkdir {}", kFolder), std::strerror(errno));
    if (access(kFolder, W_OK) != 0 && errno != ENOENT)
      throw TestbedError(fmt::format("writing in {}", kFolder), std::strerror(errno));
    const int folder = open(kFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) continue;  // removed meanwhile
    while (flock(folder, LOCK_EX) != 0 && errno == EINTR) {
    }
    // The last testbed takes the folder with it, perhaps while this process waited.
    struct stat held {};
    struct stat named {};
    if (fstat(folder, &held) == 0 && stat(kFolder, &named) == 0 && held.st_ino == named.st_ino)
      return folder;
    close(folder);
  }
}

}  // namespace

TestbedLock::TestbedLock() {
  folder_ = locked_folder();
  sigset_t endings;
  sigemptyset(&endings);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&endings, signal);
  pthread_sigmask(SIG_BLOCK, &endings, &mask_before_);
}

TestbedLock::~TestbedLock() {
  rmdir(kFolder);  // fails, as it should, while there are testbeds
  close(folder_);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

std::optional<TestbedState> load_testbed_state(const std::string& name) {
  const std::string path = state_file(name);
  std::ifstream file(path);
  if (!file) {
    if (!fs::exists(path)) return std::nullopt;
    throw InputError(
        {.source = path, .path = "", .value = "", .constraint = "cannot be read: not root"});
  }
  try {
    return from_json(parse_json(file));
  } catch (const std::exception& error) {
    throw InputError({.source = path,
                      .path = "",
                      .value = "",
                      .constraint = fmt::format("is no state of a testbed ({}); forescale testbed "
                                                "down --name {} removes it",
                                                error.what(), name)});
  }
}

void save_testbed_state(const TestbedState& state) {
  const json owner =
      state.owner ? json{{"pid", state.owner->pid}, {"start", state.owner->start}} : json();
  const std::string text =
      json{{"format", kStateFormat},          {"name", state.spec.name},
           {"hosts", state.spec.hosts},       {"rate_bytes_per_s", state.spec.rate.value},
           {"topology", state.spec.topology}, {"mpi_as_shipped", state.spec.mpi_as_shipped},
           {"network", state.network},        {"owner", owner}}
          .dump(2) +
      "\n";
  const std::string path = state_file(state.spec.name);
  const std::string draft = path + ".new";
  const int file = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool written = file >= 0;
  if (written) {
    written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(file);
  }
  if (!written || rename(draft.c_str(), path.c_str()) != 0)
    throw TestbedError("writing " + path, std::strerror(errno));
}

std::vector<std::string> testbed_names() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kFolder, none)) {
    const std::string file = entry.path().filename();
    if (file.starts_with(kPrefix) && file.ends_with(kSuffix))
      names.push_back(file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string testbed_folder(const std::string& name) {
  return fmt::format("{}/{}{}", kFolder, kPrefix, name);
}

std::string testbed_host(const std::string& name, int host) {
  return fmt::format("fs-{}-h{}", name, host);
}

std::string testbed_switch(const std::string& name, int number) {
  return fmt::format("fs-{}-s{}", name, number);
}

std::string testbed_address(const std::string& network, int host) {
  return fmt::format("{}.{}", network, host + 1);
}

std::string free_testbed_network() {
  std::set<std::string> taken;
  for (const std::string& name : testbed_names())
    if (const auto state = load_if_readable(name)) taken.insert(state->network);
  const auto routed = routed_ranges();
  constexpr std::uint32_t kFirst = 10U << 24U | 201U << 16U;  // rarely used, so seldom in the way
  constexpr std::uint32_t kNetworks = 1U << 16U;
  for (std::uint32_t i = 0; i < kNetworks; ++i) {
    const std::uint32_t address = 10U << 24U | ((kFirst + (i << 8U)) & 0x00FFFF00U);
    std::string network = fmt::format("10.{}.{}", address >> 16U & 0xFFU, address >> 8U & 0xFFU);
    const bool is_routed = std::any_of(routed.begin(), routed.end(), [&](const auto& range) {
      return range.first <= (address | 0xFFU) && range.second >= address;
    });
    if (!is_routed && !taken.contains(network)) return network;
  }
  throw TestbedError("choosing addresses", "all of 10.0.0.0/8 is in use");
}

bool has_testbed_parts(const std::string& name) {
  return fs::exists(state_file(name)) || fs::exists(testbed_folder(name)) ||
         !parts_in(kNamespaces, name).empty() || !parts_in(kNamespaceFiles, name).empty();
}

void remove_testbed(const std::string& name) {
  const std::vector<std::string> namespaces = parts_in(kNamespaces, name);
  kill_processes_in(namespaces);
  for (const std::string& part : namespaces) {
    const std::string file = fmt::format("{}/{}", kNamespaces, part);
    umount2(file.c_str(), MNT_DETACH);  // fails on one half made, which is a plain file
    if (unlink(file.c_str()) != 0 && errno != ENOENT)
      throw TestbedError("unlink " + file, std::strerror(errno));
  }
  for (const std::string& part : parts_in(kNamespaceFiles, name))
    fs::remove_all(fs::path(kNamespaceFiles) / part);
  rmdir(kNamespaceFiles);  // only when nobody else has files there
  fs::remove_all(testbed_folder(name));
  fs::remove(state_file(name) + ".new");
  fs::remove(state_file(name));
}

void remove_orphaned_testbeds() {
  for (const std::string& name : testbed_names()) {
    const auto state = load_if_readable(name);
    if (state && state->owner && running_process(state->owner->pid) != state->owner)
      remove_testbed(name);
  }
}

}  // namespace forescale
