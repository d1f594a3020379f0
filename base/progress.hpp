// Progress of long work, for people.
#pragma once

#include <cstddef>
#include <string>

namespace forescale {

// A line on stderr that is overwritten, shown when stderr is a terminal and the work takes longer
// than two seconds.
class ProgressLine {
 public:
  ProgressLine(std::string what, std::size_t total);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void done(std::size_t finished);

 private:
  std::string what_;
  std::size_t total_;
  double begin_s_;
  bool shown_ = false;
};

}  // namespace forescale
