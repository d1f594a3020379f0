#include "base/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace forescale {
namespace {

double clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressLine::ProgressLine(std::string what, std::size_t total, double log_s)
    : what_(std::move(what)), total_(total), begin_s_(clock_s()), log_s_(log_s) {}

ProgressLine::~ProgressLine() {
  if (is_shown_) fmt::print(stderr, "\r\033[K");
}

void ProgressLine::done(std::size_t finished) {
  constexpr double kPatience_s = 2;
  const double passed_s = clock_s() - begin_s_;
  const bool is_terminal = isatty(STDERR_FILENO) == 1;
  if (what_.empty() || passed_s < (is_terminal ? kPatience_s : log_s_)) return;
  const double left_s =
      passed_s / static_cast<double>(finished) * static_cast<double>(total_ - finished);
  const std::string line =
      fmt::format("{}: {} of {}, about {:.0f} s left", what_, finished, total_, left_s);
  if (is_terminal) {
    is_shown_ = true;
    fmt::print(stderr, "\r\033[K{}", line);
  } else if (finished < total_) {
    log_s_ = 2 * passed_s;
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
}

}  // namespace forescale
