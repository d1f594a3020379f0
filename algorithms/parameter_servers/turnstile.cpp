#include "algorithms/parameter_servers/turnstile.hpp"

namespace forescale {

void Turnstile::enter(Worker& thread, double urgency) {
  Request my_turn;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!taken_) {
      taken_ = true;
      return;
    }
    my_turn = thread.make_signal();
    waiting_[{urgency, arrivals_++}] = my_turn;
  }
  thread.wait(my_turn);
}

void Turnstile::leave(Worker& thread) {
  Request next;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_.empty()) {
      taken_ = false;
      return;
    }
    next = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
  }
  thread.set(next);
}

}  // namespace forescale
