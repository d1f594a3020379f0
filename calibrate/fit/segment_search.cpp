#include "calibrate/fit/segment_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace forescale {
namespace {

constexpr double kScaleFloor = 1;
constexpr double kForbidden = std::numeric_limits<double>::infinity();
constexpr std::size_t kBoundariesMax = 48;

// Scale before any segments are known: each point against the straight line between its two
// neighbours, where only breakpoints and outliers are off. A low quantile, since one outlier spoils
// three of these.
double pilot_scale(std::span<const RelativePoint> points) {
  if (points.size() < 5) return 3;
  std::vector<double> sizes;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const RelativePoint& a = points[i - 1];
    const RelativePoint& b = points[i + 1];
    const double share = (points[i].bytes - a.bytes) / (b.bytes - a.bytes);
    const double low = (1 - share) * a.time_s;
    const double high = share * b.time_s;
    // Variance of the log of the interpolated time, in units of the middle point's.
    const double left = low / (low + high) * a.uncertainty / points[i].uncertainty;
    const double right = high / (low + high) * b.uncertainty / points[i].uncertainty;
    sizes.push_back(std::abs(std::log(points[i].time_s / (low + high))) / points[i].uncertainty /
                    std::sqrt(1 + left * left + right * right));
  }
  const std::size_t at = sizes.size() * 2 / 5;
  std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(at), sizes.end());
  constexpr double kGaussianQuantile = 0.524;  // 40 % of |x| for a standard Gaussian x
  return std::max(sizes[at] / kGaussianQuantile, kScaleFloor);
}

class Search {
 public:
  Search(std::span<const RelativePoint> points, const SegmentSearchOptions& options)
      : points_(points), forced_(options.forced_ends), pilot_(pilot_scale(points)) {
    const std::size_t stride = (points.size() + kBoundariesMax - 1) / kBoundariesMax;
    for (std::size_t i = 0; i < points.size(); i += stride) bounds_.push_back(i);
    bounds_.insert(bounds_.end(), forced_.begin(), forced_.end());
    bounds_.push_back(points.size());
    std::sort(bounds_.begin(), bounds_.end());
    bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
    const std::size_t count = bounds_.size();
    starts_.resize(count * count);
    lines_.resize(count * count);
    losses_.assign(count * count, kForbidden);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        if (allowed(bounds_[i], bounds_[j]))
          starts_[i * count + j] =
              improve_line(best_elemental_line(part(i, j), pilot_), part(i, j), pilot_, 3);
      }
    }
  }

  struct Outcome {
    Segmentation segmentation;
    std::vector<double> losses;  // with 1, 2, .. segments, at the scale of `segmentation`
  };

  // The best with `segment_count`, its scale estimated along with it. No ends: there is none.
  Outcome best(std::size_t segment_count) {
    Outcome outcome;
    double scale = pilot_;
    for (int round = 0; round < 3; ++round) {
      fill_table(scale);
      outcome.losses = place(segment_count, outcome.segmentation);
      if (outcome.segmentation.ends.empty()) return outcome;
      outcome.segmentation.scale = scale;
      const double next =
          residual_scale(residuals(outcome.segmentation), 2 * segment_count, kScaleFloor);
      if (std::abs(next - scale) <= 1e-3 * scale) break;
      scale = next;
    }
    return outcome;
  }

 private:
  std::span<const RelativePoint> part(std::size_t i, std::size_t j) const {
    return points_.subspan(bounds_[i], bounds_[j] - bounds_[i]);
  }
  bool is_given(std::size_t bound) const {
    return bound == 0 || bound == points_.size() ||
           std::find(forced_.begin(), forced_.end(), bound) != forced_.end();
  }
  bool allowed(std::size_t begin, std::size_t end) const {
    for (const std::size_t bound : forced_)
      if (begin < bound && bound < end) return false;
    return end - begin >= 3 || (is_given(begin) && is_given(end));
  }

  void fill_table(double scale) {
    const std::size_t count = bounds_.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        if (!allowed(bounds_[i], bounds_[j])) continue;
        const auto points = part(i, j);
        const Line line = improve_line(starts_[i * count + j], points, scale, 2);
        std::size_t kept = 0;
        for (const RelativePoint& point : points)
          kept += tukey_weight(residual(line, point) / scale) > 0 ? 1 : 0;
        const bool enough = kept >= 3 || (is_given(bounds_[i]) && is_given(bounds_[j]));
        lines_[i * count + j] = line;
        losses_[i * count + j] = enough ? tukey_loss(line, points, scale) : kForbidden;
      }
    }
  }

  // The least loss with 1 .. segment_count segments, and the placement for the last.
  std::vector<double> place(std::size_t segment_count, Segmentation& segmentation) const {
    const std::size_t count = bounds_.size();
    std::vector<std::vector<double>> loss(segment_count + 1,
                                          std::vector<double>(count, kForbidden));
    std::vector<std::vector<std::size_t>> from(segment_count + 1, std::vector<std::size_t>(count));
    loss[0][0] = 0;
    std::vector<double> totals;
    for (std::size_t k = 1; k <= segment_count; ++k) {
      for (std::size_t j = 1; j < count; ++j) {
        for (std::size_t i = 0; i < j; ++i) {
          const double sum = loss[k - 1][i] + losses_[i * count + j];
          if (sum >= loss[k][j]) continue;
          loss[k][j] = sum;
          from[k][j] = i;
        }
      }
      totals.push_back(loss[k][count - 1]);
    }
    segmentation.ends.clear();
    segmentation.lines.clear();
    if (totals.back() == kForbidden) return totals;
    std::size_t j = count - 1;
    for (std::size_t k = segment_count; k > 0; --k) {
      segmentation.ends.insert(segmentation.ends.begin(), bounds_[j]);
      segmentation.lines.insert(segmentation.lines.begin(), lines_[from[k][j] * count + j]);
      j = from[k][j];
    }
    return totals;
  }

  std::vector<double> residuals(const Segmentation& segmentation) const {
    std::vector<double> all;
    for (std::size_t k = 0; k < segmentation.ends.size(); ++k)
      for (std::size_t i = segmentation.begin(k); i < segmentation.ends[k]; ++i)
        all.push_back(residual(segmentation.lines[k], points_[i]));
    return all;
  }

  std::span<const RelativePoint> points_;
  std::vector<std::size_t> forced_;
  double pilot_;
  std::vector<std::size_t> bounds_;  // where a segment may begin and end
  std::vector<Line> starts_;         // [begin * bounds + end]: at the pilot's scale
  std::vector<Line> lines_;          // the same, at the scale of the last table
  std::vector<double> losses_;
};

}  // namespace

Segmentation search_segments(std::span<const RelativePoint> points,
                             const SegmentSearchOptions& options) {
  Search search(points, options);
  const std::size_t fewest = options.forced_ends.size() + 1;
  const std::size_t most = std::max(options.segments_max, fewest);
  const double n = static_cast<double>(points.size());
  std::vector<Search::Outcome> outcomes;
  for (std::size_t count = fewest; count <= most; ++count) {
    // Degrees of freedom must be left to tell the noise from, the more the more was searched: 6
    // sizes for one breakpoint, 11 for two, 16 for three.
    if (count > fewest && 3 * count + 2 * (count - fewest - 1) > points.size()) break;
    Search::Outcome outcome = search.best(count);
    if (outcome.segmentation.ends.empty()) break;
    outcomes.push_back(std::move(outcome));
  }
  const auto beats = [&](std::size_t more, std::size_t fewer) {
    const std::vector<double>& losses = outcomes[more].losses;
    const double gain = losses[fewest + fewer - 1] - losses[fewest + more - 1];
    const double parameters = static_cast<double>(3 * (fewest + more) - fewest);
    const double extra = static_cast<double>(3 * (more - fewer));
    const double penalty = (0.75 + 12.5 / n) * extra * std::log(n);
    return n * std::log1p(gain / std::max(n - parameters, 1.0)) > penalty;
  };
  std::size_t chosen = 0;
  for (std::size_t more = 1; more < outcomes.size(); ++more)
    if (beats(more, chosen)) chosen = more;
  return outcomes[chosen].segmentation;
}

std::vector<Segmentation> plausible_shifts(const Segmentation& segmentation,
                                           std::span<const RelativePoint> points,
                                           std::span<const std::size_t> forced_ends) {
  constexpr double kPlausible = 3.84;
  const double scale = segmentation.scale;
  std::vector<Segmentation> shifts;
  for (std::size_t k = 0; k + 1 < segmentation.ends.size(); ++k) {
    const std::size_t end = segmentation.ends[k];
    if (std::find(forced_ends.begin(), forced_ends.end(), end) != forced_ends.end()) continue;
    const auto loss_of_both = [&](const Segmentation& candidate) {
      double sum = 0;
      for (std::size_t i = k; i <= k + 1; ++i)
        sum += tukey_loss(candidate.lines[i], candidate.part(points, i), scale);
      return sum;
    };
    for (const int shift : {-2, -1, 1, 2}) {
      Segmentation moved = segmentation;
      moved.ends[k] = end + static_cast<std::size_t>(shift);  // wraps below 0 are too short
      if (moved.ends[k] < moved.begin(k) + 3 || moved.ends[k] + 3 > moved.ends[k + 1]) continue;
      for (std::size_t i = k; i <= k + 1; ++i) {
        const auto part = moved.part(points, i);
        moved.lines[i] = improve_line(best_elemental_line(part, scale), part, scale, 20);
      }
      if (loss_of_both(moved) - loss_of_both(segmentation) < kPlausible)
        shifts.push_back(std::move(moved));
    }
  }
  return shifts;
}

}  // namespace forescale
