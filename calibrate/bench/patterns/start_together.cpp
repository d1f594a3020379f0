#include "calibrate/bench/patterns/start_together.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibrate/bench/polled.hpp"

namespace forescale {
namespace {

constexpr int kRoundTrips = 30;
constexpr int kClockTag = 32001;
constexpr double kDelayMax_s = 0.1;

// Rank 0's word before a repetition.
struct StartMessage {
  double start_s = 0;  // on rank 0's clock
  double compare_clocks = 0;
};

MPI_Request post_receive(double& value, int from, MPI_Comm communicator) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&value, 1, MPI_DOUBLE, from, kClockTag, communicator, &request);
  return request;
}

MPI_Request post_send(const double& value, int to, MPI_Comm communicator) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(&value, 1, MPI_DOUBLE, to, kClockTag, communicator, &request);
  return request;
}

}  // namespace

StartTogether::StartTogether(MPI_Comm communicator, const Patience& patience)
    : communicator_(communicator), patience_(patience), rank_(rank_in(communicator)) {
  compare_clocks();
}

// One rank after the other, so that a pair is not disturbed; the two of it spin.
void StartTogether::compare_clocks() {
  if (rank_ != 0) {
    answer_clock_questions();
  } else {
    for (int rank = 1; rank < size_of(communicator_); ++rank) ask_clock_of(rank);
  }
  compared_s_ = clock_s();
}

void StartTogether::ask_clock_of(int rank) {
  const Patience spinning(0);
  double best_s = std::numeric_limits<double>::infinity();
  double offset_s = 0;
  for (int i = 0; i <= kRoundTrips; ++i) {
    const bool is_last = i == kRoundTrips;  // tells the offset and the round trip, asks nothing
    const double asked_s = clock_s();
    const double message = is_last ? offset_s : asked_s;
    MPI_Request sent = post_send(message, rank, communicator_);
    double theirs_s = best_s;
    if (is_last) {
      finish(sent, spinning);
      sent = post_send(theirs_s, rank, communicator_);
    } else {
      MPI_Request answered = post_receive(theirs_s, rank, communicator_);
      finish(answered, spinning);
    }
    const double answered_s = clock_s();
    finish(sent, spinning);
    if (is_last || answered_s - asked_s >= best_s) continue;
    best_s = answered_s - asked_s;
    offset_s = theirs_s - (asked_s + answered_s) / 2;
  }
}

void StartTogether::answer_clock_questions() {
  const Patience spinning(0);
  const Patience polite(std::max(patience_.nap_s(), 1e-3));  // while others are asked
  for (int i = 0; i < kRoundTrips; ++i) {
    double asked_s = 0;
    MPI_Request question = post_receive(asked_s, 0, communicator_);
    finish(question, i == 0 ? polite : spinning);
    const double now_s = clock_s();
    MPI_Request answer = post_send(now_s, 0, communicator_);
    finish(answer, spinning);
  }
  for (double* told : {&offset_s_, &round_trip_s_}) {
    MPI_Request request = post_receive(*told, 0, communicator_);
    finish(request, spinning);
  }
}

double StartTogether::agree_start(double delay_s) {
  wait_for_all(communicator_, patience_);
  StartMessage message;
  if (rank_ == 0)
    message = {.start_s = clock_s() + std::max(delay_s, least_delay_s_),
               .compare_clocks = clock_s() - compared_s_ > kClockAge_s ? 1.0 : 0.0};
  tell_all(&message, sizeof message, communicator_, patience_);
  if (message.compare_clocks > 0) {
    compare_clocks();
    return agree_start(delay_s);
  }
  start_s_ = message.start_s + offset_s_;
  was_late_ = clock_s() > start_s_;
  if (!was_late_) patience_.sleep_until(start_s_);
  least_delay_s_ = std::max(least_delay_s_, delay_s);
  return start_s_;
}

std::optional<double> StartTogether::elapsed(double end_s) {
  const double late_s = std::numeric_limits<double>::infinity();
  const double slowest_s = maximum(was_late_ ? late_s : end_s - start_s_, communicator_, patience_);
  const bool is_valid = std::isfinite(slowest_s);
  // Back to what was asked for, slowly: one hiccup is no reason to wait longer for ever.
  least_delay_s_ = is_valid ? 0.8 * least_delay_s_ : std::min(2 * least_delay_s_, kDelayMax_s);
  return is_valid ? std::optional(slowest_s) : std::nullopt;
}

}  // namespace forescale
