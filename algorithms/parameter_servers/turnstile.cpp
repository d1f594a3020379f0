#include "algorithms/parameter_servers/turnstile.hpp"

namespace forescale {

void Turnstile::enter(Worker& thread, double urgency) {
  if (!taken_) {
    taken_ = true;
    return;
  }
  const Request my_turn = thread.make_signal();
  waiting_[{urgency, arrivals_++}] = my_turn;
  thread.wait(my_turn);
}

void Turnstile::leave(Worker& thread) {
  if (waiting_.empty()) {
    taken_ = false;
    return;
  }
  const Request next = waiting_.begin()->second;
  waiting_.erase(waiting_.begin());
  thread.set(next);
}

}  // namespace forescale
