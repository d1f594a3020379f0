#pragma once

#include <array>
#include <csignal>

namespace forescale {

// Notes SIGINT, SIGTERM and SIGHUP instead of ending this process, as long as it lives; what was
// ignored stays ignored. One inside another knows what that has noted.
class NotedSignals {
 public:
  NotedSignals();
  ~NotedSignals();
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;

  // 0: none.
  static int received();
  // Ends by what was received, if anything was, unless one around it notes it.
  void raise_received();

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

  void restore();

  std::array<struct sigaction, kSignals.size()> before_{};
  bool is_restored_ = false;
};

}  // namespace forescale
