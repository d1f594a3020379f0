// What `calibrate measure` does alike for MPI and for a GPU: progress, interruption, what is kept
// and printed at the end.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <string>

#include "calibrate/measure/measure.hpp"

namespace forescale {

// Notes a signal, so that what was measured is written before the program ends by it.
class Interruption {
 public:
  Interruption();
  ~Interruption() { restore(); }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  void end_if_interrupted();

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  static inline volatile std::sig_atomic_t received_ = 0;
  void restore();
  std::array<void (*)(int), 3> before_{};
};

struct MeasureOutput {
  std::string file;  // empty: printed only
  bool json = false;
};
// Writes what was measured, also after a failure, and prints it. SimulationStuck after a failure,
// saying where what was measured is.
void conclude(const MeasureOutcome& outcome, const MeasureOutput& output,
              Interruption& interruption);

}  // namespace forescale
