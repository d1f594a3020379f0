#include "sim/engine/simgrid/shared_processor.hpp"

#include <algorithm>

#include "sim/engine/simgrid/shared_capacity.hpp"

namespace forescale {

void SharedProcessor::add(Use& task, double left_s, double now_s) {
  if (tasks_.empty()) {
    served_s_ = 0;
    since_s_ = now_s;
  }
  look_at(now_s);
  task.end = served_s_ + left_s;
  tasks_.emplace(std::pair{task.end, ++added_}, &task);
}

void SharedProcessor::remove(const Use& task) {
  auto found = tasks_.lower_bound({task.end, 0});
  while (found->second != &task) ++found;
  tasks_.erase(found);
  if (first_ == &task) first_ = nullptr;
}

std::pair<double, Use*> SharedProcessor::go_on(double now_s, double cores_each,
                                               std::uint64_t number) {
  look_at(now_s);
  cores_each_ = cores_each;
  if (first_ != nullptr) first_->number = 0;
  const double end_s = tasks_.begin()->first.first;
  first_ = tasks_.begin()->second;
  first_->number = number;
  return {now_s + std::max(0.0, end_s - served_s_) / cores_each_, first_};
}

void SharedProcessor::look_at(double now_s) {
  served_s_ += cores_each_ * (now_s - since_s_);
  since_s_ = now_s;
}

}  // namespace forescale
