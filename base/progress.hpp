// Progress of long work, for people.
#pragma once

#include <cstddef>
#include <string>

namespace forescale {

// On stderr, of work that takes longer than two seconds: on a terminal a line that is overwritten;
// elsewhere, a job's log say, lines after a minute, two, four and so on.
class ProgressLine {
 public:
  // `log_s`: until the first of these lines. Of work without a name nothing is shown.
  ProgressLine(std::string what, std::size_t total, double log_s = 60);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void done(std::size_t finished);

 private:
  std::string what_;
  std::size_t total_;
  double begin_s_;
  double log_s_;  // of the next line where there is no terminal
  bool is_shown_ = false;
};

}  // namespace forescale
