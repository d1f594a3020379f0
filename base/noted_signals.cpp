#include "base/noted_signals.hpp"

#include <cstddef>

namespace forescale {
namespace {

volatile std::sig_atomic_t noted_signal = 0;
int alive = 0;

}  // namespace

NotedSignals::NotedSignals() {
  if (++alive == 1) noted_signal = 0;
  struct sigaction action {};
  action.sa_handler = [](int signal) { noted_signal = signal; };
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

NotedSignals::~NotedSignals() {
  restore();
  --alive;
}

int NotedSignals::received() { return noted_signal; }

void NotedSignals::raise_received() {
  restore();
  if (noted_signal != 0) std::raise(noted_signal);
}

void NotedSignals::restore() {
  for (std::size_t i = 0; i < kSignals.size() && !is_restored_; ++i)
    sigaction(kSignals[i], &before_[i], nullptr);
  is_restored_ = true;
}

}  // namespace forescale
