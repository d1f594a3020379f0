#include "calibrate/measure/measured_time.hpp"

#include <fmt/format.h>

namespace forescale {

double read_measured_time(const JsonInput& in) {
  const double time_s = in.number(0);
  if (time_s <= 0) in.fail("must be > 0");
  return time_s;
}

TimeEnds read_time_ends(const JsonInput& in, const char* low_key, const char* high_key,
                        double time_s) {
  if (in.has(low_key) != in.has(high_key))
    in.fail(fmt::format("must have both \"{}\" and \"{}\", or neither", low_key, high_key));
  if (!in.has(low_key)) return {.low_s = time_s, .high_s = time_s};
  const TimeEnds ends{.low_s = read_measured_time(in.at(low_key)),
                      .high_s = read_measured_time(in.at(high_key))};
  if (ends.low_s > time_s) in.at(low_key).fail(fmt::format("must be <= time_s, {}", time_s));
  if (ends.high_s < time_s) in.at(high_key).fail(fmt::format("must be >= time_s, {}", time_s));
  return ends;
}

}  // namespace forescale
