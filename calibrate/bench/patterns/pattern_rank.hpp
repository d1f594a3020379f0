// One rank's side of measuring patterns: it holds the communicators, clocks and buffers of the
// series it takes part in, and does what a visit asks for.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "calibrate/bench/patterns/pattern.hpp"
#include "calibrate/bench/patterns/start_together.hpp"

namespace forescale {

// What is to be measured in one series: the part of a Series that a request gives.
struct PatternSeries {
  std::string pattern;
  std::vector<int> members;
  std::string op;
  std::vector<std::int64_t> bytes;
};

// Rank 0's word to the members of a series, as it is sent.
struct VisitCommand {
  int series = -1;  // none: the end
  int size = 0;
  int warm_up = 0;
  int repetitions = 0;
  int is_checked = 0;  // what arrives in the first repetition is compared with what was sent
};

struct VisitResult {
  bool is_correct = true;
  std::vector<double> samples_s;  // on the first member; the slowest rank's
};

class PatternRank {
 public:
  PatternRank(const std::vector<PatternSeries>& series, const Patience& patience)
      : series_(&series), patience_(patience) {}

  // Collective over the members of the series; this rank is one of them.
  VisitResult visit(const VisitCommand& command);

 private:
  StartTogether& together(const std::vector<int>& members);
  double once(const PatternCode& code, PatternCall& call, StartTogether& together);

  const std::vector<PatternSeries>* series_;
  Patience patience_;
  std::map<std::vector<int>, std::unique_ptr<StartTogether>> together_;
  std::vector<std::byte> sent_;
  std::vector<std::byte> received_;
};

}  // namespace forescale
