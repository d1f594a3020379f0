// How far what follows from answers may be off: a 90 % interval around it, made here and nowhere
// else.
//
// Three kinds of influences are varied, each for all answers of a formula at once, so that what is
// common to both sides of a ratio cancels:
//   machine     the uncertain numbers of platform and stack at their fast, then at their slow ends,
//               simulated. All at once is further than 90 % of joint draws go: kJointShare of it
//   compute     those of the kernels: the passes' time is exchanged in the answers, not simulated
//   unmodelled  what the simulator leaves out, for each answer apart (models/unmodelled.json)
// Their deviations add up as those of independent causes do. Where numbers were drawn instead, the
// interval is that of the draws, each of which has all three kinds drawn.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/ask/ask.hpp"

namespace forescale {

// Of the way to the ends that all numbers of a machine go together: the median, over 41 rows of
// open tables and papers, of the half-width of 40 joint draws over the deviation at the ends.
inline constexpr double kJointShare = 0.6;

struct Spread {
  double value = 0;
  double low = 0;
  double high = 0;
  bool is_known = true;  // false: an answer is missing at an end; low and high are the value
  // By influence: its part of the squared half-width; of draws none.
  std::map<std::string, double> shares = {};
};

// `value` is a function of an answer for each of `answers`, in their order. It may throw; so does
// this then.
Spread spread_of(const std::vector<const RangedAnswer*>& answers,
                 const std::function<double(const std::vector<Answer>&)>& value);

// What the simulator leaves out acts on a training where the network is busy (it may be in the way
// of what should hide it), on a collective rather where it waits: between what the file says of an
// idle and of a busy network the logarithm is linear in Answer::busiest_share. Of a layout it is
// its framework's.
Unmodelled unmodelled(const Answer& answer);

// How much of what draws scatter one number explains: the squared correlation of its position with
// the drawn values' logarithms.
struct NumberShare {
  NumberSource number;
  double share = 0;
};
// Of the uncertain ones among `numbers`, largest share first, those that chance would not give one
// in a hundred. `drawn`: by draw, above 0.
std::vector<NumberShare> shares_of(const std::vector<NumberSource>& numbers,
                                   const std::vector<double>& drawn);

// The answer as it would be if its passes took `ratio` times as long.
Answer with_compute(Answer answer, double ratio);
// The answer with its time, and what is exposed of it, `factor` times as long.
Answer with_time(Answer answer, double factor);

}  // namespace forescale
