#include "calibrate/bench/patience.hpp"

#include <sys/prctl.h>

#include <cerrno>
#include <cmath>
#include <ctime>

namespace forescale {
namespace {

timespec to_timespec(double seconds) {
  const double whole = std::floor(seconds);
  return {.tv_sec = static_cast<time_t>(whole),
          .tv_nsec = static_cast<long>((seconds - whole) * 1e9)};
}

}  // namespace

double clock_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Patience::Patience(double nap_s) : nap_s_(nap_s) {
  // The kernel's default of 50 us would be added to every nap.
  prctl(PR_SET_TIMERSLACK, 1000);
}

void Patience::wait(const std::function<bool()>& poll) const {
  const timespec nap = to_timespec(nap_s_);
  while (!poll())
    if (nap_s_ > 0) clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
}

void Patience::sleep_until(double when_s) const {
  constexpr double kSpinBefore_s = 100e-6;  // waking up takes tens of microseconds
  const timespec when = to_timespec(nap_s_ > 0 ? when_s : when_s - kSpinBefore_s);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {
  }
  while (clock_s() < when_s) {
  }
}

}  // namespace forescale
