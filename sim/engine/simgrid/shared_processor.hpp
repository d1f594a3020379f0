// Tasks that are slowed on one processor: all go at one rate, so what each has had is one number.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace forescale {

struct Use;

class SharedProcessor {
 public:
  bool empty() const { return tasks_.empty(); }
  // Of `left_s` of work, from `now_s` on.
  void add(Use& task, double left_s, double now_s);
  void remove(const Use& task);
  // From `now_s` on each has so much of a core: when the first ends, of equal ones the one that
  // came first. Numbers it, and takes the number of the one that was first before. Not empty.
  std::pair<double, Use*> go_on(double now_s, double cores_each, std::uint64_t number);

 private:
  void look_at(double now_s);

  double cores_each_ = 1;
  double served_s_ = 0;  // work that each has had that has been there since it was empty
  double since_s_ = 0;   // up to here
  std::uint64_t added_ = 0;
  Use* first_ = nullptr;                                    // that has a number
  std::map<std::pair<double, std::uint64_t>, Use*> tasks_;  // by what each has had at its end
};

}  // namespace forescale
