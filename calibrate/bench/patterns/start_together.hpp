// Ranks that start at one moment, and the time until the slowest of them has ended: by clocks that
// were compared, so that no message is needed between the start and what is timed.
//
// The offset of a rank's clock to rank 0's comes from the fastest of many round trips: wrong by at
// most half of it. Compared anew when it is older than kClockAge_s, because clocks drift.
#pragma once

#include <mpi.h>

#include <optional>

#include "calibrate/bench/patience.hpp"

namespace forescale {

class StartTogether {
 public:
  // Everything here is collective over `communicator`.
  StartTogether(MPI_Comm communicator, const Patience& patience);

  // Waits for all ranks, agrees on a moment `delay_s` from then, or later when that has proved too
  // short, and sleeps until it. The moment, on this rank's clock.
  double agree_start(double delay_s = 1e-3);
  // From the agreed start until the last rank's `end_s` (on its own clock); nothing when a rank had
  // learned of the start too late, and the repetition is to be done again.
  std::optional<double> elapsed(double end_s);

  double clock_offset_s() const { return offset_s_; }    // this rank's clock minus rank 0's
  double round_trip_s() const { return round_trip_s_; }  // the fastest, to rank 0
  MPI_Comm communicator() const { return communicator_; }
  const Patience& patience() const { return patience_; }

  static constexpr double kClockAge_s = 5;

 private:
  void compare_clocks();
  void answer_clock_questions();
  void ask_clock_of(int rank);

  MPI_Comm communicator_;
  Patience patience_;
  int rank_ = 0;
  double offset_s_ = 0;
  double round_trip_s_ = 0;
  double compared_s_ = 0;  // when
  double least_delay_s_ = 0;
  double start_s_ = 0;
  bool was_late_ = false;
};

}  // namespace forescale
