// The burst of a token-bucket shaper, as ping-pongs show it: t = alpha + max(0, b - burst) / rate.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/fit/estimate.hpp"

namespace forescale {

// In bytes; 0 where no shaper is seen. From eager messages, which need no answer, of at most half
// the eager limit and long enough for the rate to show; `large` is the line of large messages.
Estimate shaper_burst(const std::vector<MeasuredPoint>& points, const AlphaBeta& large,
                      std::int64_t eager_limit);

// The times without it: what passed at once takes its time. The link had been idle for `idle_s`
// before each message, which is what it gained tokens in.
std::vector<MeasuredPoint> without_burst(std::vector<MeasuredPoint> points, const AlphaBeta& large,
                                         double burst_bytes, double idle_s);

}  // namespace forescale
