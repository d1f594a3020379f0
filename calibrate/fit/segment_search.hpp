// Where one line ends and the next begins: dynamic programming over all breakpoints between
// measured sizes, and as many segments as are justified.
//
// For a number of segments K the sum of Tukey losses is least over all placements (Bellman), at a
// scale of the residuals that is estimated from that very fit. More segments (K') are preferred to
// K only when
//   n log(1 + (loss_K - loss_K') / (n - p_K')) > c(n) 3 (K' - K) log n,    p_K = 3 K - 1,
// both losses at the scale of K': Schwarz's criterion on bounded losses, which a few outliers
// cannot drive. A segment costs three parameters, its breakpoint included. BIC's derivation (c = 1)
// covers neither a search for breakpoints nor few points (Liu, Wu and Zidek, Statist. Sinica 7
// (1997); Zhang and Siegmund, Biometrics 63 (2007)), so c(n) = 0.75 + 12.5 / n is the 97 % quantile
// of what single lines with 3 % Gaussian noise give, measured for n = 6 .. 30 and K' = 2 .. 4.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "calibrate/fit/robust_line.hpp"

namespace forescale {

struct Segmentation {
  std::vector<std::size_t> ends;  // segment k is points ends[k-1] .. ends[k] - 1
  std::vector<Line> lines;
  double scale = 1;  // of the residuals, at least 1: a point is known no better than it says

  std::size_t begin(std::size_t k) const { return k == 0 ? 0 : ends[k - 1]; }
  std::span<const RelativePoint> part(std::span<const RelativePoint> points, std::size_t k) const {
    return points.subspan(begin(k), ends[k] - begin(k));
  }
};

struct SegmentSearchOptions {
  std::size_t segments_max = 4;
  std::vector<std::size_t> forced_ends = {};  // breakpoints that are known, as in `ends`
};

// Of points by growing size. A segment that a breakpoint found here bounds has at least three
// points, three of which the loss keeps. With more than 48 points not every one is tried as a
// breakpoint. Forced breakpoints are kept even when there are more than segments_max - 1.
Segmentation search_segments(std::span<const RelativePoint> points,
                             const SegmentSearchOptions& options);

// The same with one found breakpoint moved by one or two points, as long as the loss is hardly
// worse (by 3.84, the 95 % quantile of chi-squared): where else the breakpoint may be.
std::vector<Segmentation> plausible_shifts(const Segmentation& segmentation,
                                           std::span<const RelativePoint> points,
                                           std::span<const std::size_t> forced_ends);

}  // namespace forescale
