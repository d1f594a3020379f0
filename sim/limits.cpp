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
#include "sim/isolate.hpp"

namespace forescale {
namespace {

// A question's nominal, fast and slow simulation.
constexpr int kAtOnceMax = 3;
// Of what is free: other programs want some.
constexpr double kFreeShare = 0.9;

int simulations_at_once() { return std::min(available_cores(), kAtOnceMax); }

double needed_bytes(const WholeSimulation& simulation, std::int64_t ranks) {
  const auto count = static_cast<double>(ranks);
  return simulations_at_once() *
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

volatile long allowed_pages = 0;

// What is resident, of /proc/self/statm: size, resident, ... in pages. Stacks of threads are mapped
// whole and used in part, so that a limit on what is mapped would say nothing.
void end_if_too_large(int /*signal*/) {
  std::array<char, 64> buffer{};
  const std::string_view text = beginning("/proc/self/statm", buffer);
  size_t at = 0;
  while (at < text.size() && text[at] != ' ') ++at;
  long pages = 0;
  for (++at; at < text.size() && text[at] != ' '; ++at) pages = 10 * pages + (text[at] - '0');
  if (pages > allowed_pages) _exit(kOutOfMemory);
}

std::string bytes_text(double bytes) { return to_text(Bytes{std::llround(bytes)}); }

}  // namespace

std::string why_too_large(const WholeSimulation& simulation, const SimulationLimits& limits) {
  const std::string why = simulation.why.empty() ? "so few are never folded" : simulation.why;
  const std::int64_t most = limits.ranks > 0 ? limits.ranks : kMaxRanks;
  const double needed = needed_bytes(simulation, simulation.ranks);
  if (simulation.ranks > most)
    return fmt::format(
        "all {} ranks would have to be simulated ({}), more than --max-ranks {}: that takes about "
        "{} and time that may grow with their square; ask for fewer, or raise --max-ranks",
        simulation.ranks, why, most, bytes_text(needed));
  const double allowed = allowed_bytes(limits);
  if (allowed > 0 && needed > allowed)
    return fmt::format(
        "all {} ranks would have to be simulated ({}), which takes about {} of memory, and {} are "
        "{}: about {} ranks would fit",
        simulation.ranks, why, bytes_text(needed), bytes_text(allowed),
        limits.memory_bytes > 0 ? "allowed by --max-memory" : "free (--max-memory says otherwise)",
        fitting_ranks(simulation, allowed));
  return "";
}

void check_size(const WholeSimulation& simulation, const SimulationLimits& limits) {
  if (const std::string reason = why_too_large(simulation, limits); !reason.empty())
    refuse(simulation.option, std::to_string(simulation.ranks), reason);
}

void limit_memory(const SimulationLimits& limits) {
  const double allowed = allowed_bytes(limits) / simulations_at_once();
  if (allowed <= 0) return;
  allowed_pages = static_cast<long>(allowed) / sysconf(_SC_PAGESIZE);
  struct sigaction look {};
  look.sa_handler = end_if_too_large;
  look.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &look, nullptr);
  const itimerval ten_a_second{.it_interval = {.tv_sec = 0, .tv_usec = 100'000},
                               .it_value = {.tv_sec = 0, .tv_usec = 100'000}};
  setitimer(ITIMER_REAL, &ten_a_second, nullptr);
}

}  // namespace forescale
