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

ProgressLine::ProgressLine(std::string what, std::size_t total)
    : what_(std::move(what)), total_(total), begin_s_(clock_s()) {}

ProgressLine::~ProgressLine() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void ProgressLine::done(std::size_t finished) {
  constexpr double kPatience = 2;
  const double passed_s = clock_s() - begin_s_;
  if (isatty(STDERR_FILENO) != 1 || passed_s < kPatience) return;
  shown_ = true;
  const double left_s =
      passed_s / static_cast<double>(finished) * static_cast<double>(total_ - finished);
  fmt::print(stderr, "\r\033[K{}: {} of {}, about {:.0f} s left", what_, finished, total_, left_s);
  std::fflush(stderr);
}

}  // namespace forescale
