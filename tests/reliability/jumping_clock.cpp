// Preloaded into a program (LD_PRELOAD), a time of day that jumps by up to ten years, to and fro,
// every few milliseconds. Clocks that only go on are as they were.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

namespace {

constexpr std::int64_t kLongest_s = 10LL * 365 * 24 * 3600;
constexpr std::int64_t kMillisecond_ns = 1000000;
constexpr std::int64_t kThousand = 1000;

// SplitMix64.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

int jumped(timespec* now) {
  timespec since_boot{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &since_boot);
  const std::int64_t milliseconds =
      since_boot.tv_sec * kThousand + since_boot.tv_nsec / kMillisecond_ns;
  const auto drawn = static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(milliseconds / 4)) %
                                               (2 * kLongest_s));
  const long result = syscall(SYS_clock_gettime, CLOCK_REALTIME, now);
  now->tv_sec += drawn - kLongest_s;
  return static_cast<int>(result);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) return jumped(now);
  return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec exact{};
  const int result = jumped(&exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / kThousand;
  return result;
}

time_t time(time_t* kept) noexcept {
  timespec now{};
  jumped(&now);
  if (kept != nullptr) *kept = now.tv_sec;
  return now.tv_sec;
}
}
