#include "sim/limits.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

// Of what is free: other programs want some.
constexpr double kFreeShare = 0.9;

// This one is one of so many that run at once.
int processes_at_once = 1;

double needed_bytes(const WholeSimulation& simulation, std::int64_t ranks) {
  const auto count = static_cast<double>(ranks);
  return processes_at_once *
         (simulation.rank_bytes * count + simulation.pair_bytes * count * count);
}

// So much of a file of the kernel; empty: it is not there.
template <size_t kBytes>
std::string_view beginning(const char* path, std::array<char, kBytes>& text) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t count = read(file, text.data(), text.size());
  close(file);
  return {text.data(), static_cast<size_t>(std::max<ssize_t>(0, count))};
}

// Linux' own estimate; 0: it is not known. "MemAvailable:    1234 kB" is the third line.
double free_bytes() {
  constexpr std::string_view kName = "MemAvailable:";
  std::array<char, 256> text{};
  std::string_view rest = beginning("/proc/meminfo", text);
  const size_t at = rest.find(kName);
  if (at == std::string_view::npos) return 0;
  rest.remove_prefix(at + kName.size());
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
  std::int64_t kilobytes = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), kilobytes);
  return kFreeShare * 1024 * static_cast<double>(kilobytes);
}

double allowed_bytes(const SimulationLimits& limits) {
  return limits.memory_bytes > 0 ? static_cast<double>(limits.memory_bytes) : free_bytes();
}

std::int64_t fitting_ranks(const WholeSimulation& simulation, double bytes) {
  std::int64_t low = 0;
  std::int64_t high = simulation.ranks;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (needed_bytes(simulation, middle) <= bytes ? low : high) = middle;
  }
  return low;
}

// 0: there is no limit.
volatile long allowed_pages = 0;

std::string bytes_text(double bytes) { return to_text(Bytes{std::llround(bytes)}); }

// What is resident, of /proc/self/statm: size, resident, ... in pages. Stacks of threads are mapped
// whole and used in part, so that a limit on what is mapped would say nothing.
long resident_pages() {
  std::array<char, 64> buffer{};
  const std::string_view text = beginning("/proc/self/statm", buffer);
  size_t at = 0;
  while (at < text.size() && text[at] != ' ') ++at;
  long pages = 0;
  for (++at; at < text.size() && text[at] != ' '; ++at) pages = 10 * pages + (text[at] - '0');
  return pages;
}

// Where it says why it ends; -1: nowhere.
int reason_pipe = -1;
std::string reason_text;

void end_if_too_large(int /*signal*/) {
  if (resident_pages() <= allowed_pages) return;
  if (reason_pipe >= 0 && write(reason_pipe, reason_text.data(), reason_text.size()) < 0) _exit(1);
  _exit(kOutOfMemory);
}

void look_ten_times_a_second() {
  const double allowed =
      static_cast<double>(allowed_pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
  reason_text =
      kReasonBegin + fmt::format(
                         "a simulation needs more than {}, its share of what may be taken "
                         "({} at once): ask for fewer ranks, or raise it",
                         bytes_text(allowed), processes_at_once);
  struct sigaction look {};
  look.sa_handler = end_if_too_large;
  look.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &look, nullptr);
  const itimerval ten_a_second{.it_interval = {.tv_sec = 0, .tv_usec = 100'000},
                               .it_value = {.tv_sec = 0, .tv_usec = 100'000}};
  setitimer(ITIMER_REAL, &ten_a_second, nullptr);
}

}  // namespace

std::string why_too_large(const WholeSimulation& simulation, const SimulationLimits& limits) {
  const std::string why = simulation.why.empty() ? "so few are never folded" : simulation.why;
  const std::int64_t most = limits.ranks > 0 ? limits.ranks : kMaxRanks;
  const double needed = needed_bytes(simulation, simulation.ranks);
  const double allowed = allowed_bytes(limits);
  const bool is_too_large = allowed > 0 && needed > allowed;
  const std::string fitting =
      is_too_large ? fmt::format("{} are {}: about {} ranks would fit", bytes_text(allowed),
                                 limits.memory_bytes > 0 ? "allowed by --max-memory"
                                                         : "free (--max-memory says otherwise)",
                                 fitting_ranks(simulation, allowed))
                   : "";
  if (simulation.ranks > most)
    return fmt::format(
        "all {} ranks would have to be simulated ({}), more than --max-ranks {}: that takes about "
        "{} and time that may grow with their square; ask for fewer, or raise --max-ranks{}",
        simulation.ranks, why, most, bytes_text(needed),
        is_too_large ? "; " + fitting : std::string());
  if (is_too_large)
    return fmt::format(
        "all {} ranks would have to be simulated ({}), which takes about {} of memory, and {}",
        simulation.ranks, why, bytes_text(needed), fitting);
  return "";
}

void check_size(const WholeSimulation& simulation, const SimulationLimits& limits) {
  if (const std::string reason = why_too_large(simulation, limits); !reason.empty())
    refuse(simulation.option, std::to_string(simulation.ranks), reason);
}

void limit_memory(const SimulationLimits& limits) {
  const double allowed = allowed_bytes(limits) / processes_at_once;
  if (allowed <= 0) return;
  allowed_pages = std::max(1L, static_cast<long>(allowed) / sysconf(_SC_PAGESIZE));
  look_ten_times_a_second();
}

void share_memory(int processes, int pipe) {
  processes_at_once *= processes;
  reason_pipe = pipe;
  if (allowed_pages == 0) return;
  const long held = resident_pages();
  allowed_pages = held + std::max(0L, allowed_pages - held) / processes;
  look_ten_times_a_second();  // timers are not inherited
}

}  // namespace forescale
