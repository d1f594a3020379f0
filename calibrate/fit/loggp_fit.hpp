// LogGP from point-to-point measurements: a message of k bytes takes o + (k - 1) G + L + o one way,
// and messages of k bytes follow one another every max(g, o) + (k - 1) G.
//
// From the fits of two patterns: L + 2 o is the intercept of the ping-pong's first segment (small
// messages), g that of the stream's, G the slope of the stream's last segment (large messages). For
// k - 1 bytes k is taken: a byte's time is below what any intercept is known to.
// o cannot be told from L by these two: all of 0 <= o <= min(g, (L + 2 o) / 2) give the same times.
// The sender's own time does tell it: what a send takes whose receive comes later, at sizes that
// the library buffers (first segment of Pattern::kLateReceive). Source: Alexandrov, Ionescu,
// Schauser, Scheiman, "LogGP: incorporating long messages into the LogP model", SPAA 1995,
// section 2. One o for sender and receiver; no s of LogGPS (a breakpoint here).
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/segmented_fit.hpp"
#include "calibrate/measure/measurement.hpp"

namespace forescale {

struct LogGP {
  double latency_s = 0;       // L
  double overhead_s = 0;      // o; not measured: the middle of its interval
  double gap_s = 0;           // g, per message
  double gap_s_per_byte = 0;  // G
  Interval latency_interval_s;
  Interval overhead_interval_s;  // not measured: all that is possible
  Interval gap_interval_s;
  Interval gap_interval_s_per_byte;
  bool overhead_measured = false;
  std::vector<std::string> warnings;  // those of the fits, named by pattern, and contradictions
};

struct LogGPPoints {
  std::vector<MeasuredPoint> ping_pong;
  std::vector<MeasuredPoint> stream;
  std::vector<MeasuredPoint> late_receive = {};  // empty: not measured
};

// InputError as fit_segments, with ": ping-pong", ": stream" or ": late-receive" after `source`.
LogGP fit_loggp(const LogGPPoints& points, const std::string& source,
                const SegmentedFitOptions& options = {});

}  // namespace forescale
