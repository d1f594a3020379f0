#include "calibrate/fit/bootstrap.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace forescale {
namespace {

// The points that the loss kept, linearised: target = row (alpha, beta * unit) + residual.
struct KeptPoint {
  std::size_t segment = 0;
  Eigen::RowVector2d row;
  double target = 0;
  double own = 0;  // own uncertainty in units of the residual
};

struct WeightedFit {
  std::vector<Eigen::Vector2d> values;   // (alpha, beta * unit) of each segment
  std::vector<Eigen::Matrix2d> inverse;  // of the weighted normal matrix
  std::vector<double> residuals;
  std::vector<double> weights;
  double scale = 1;

  double standard_error(std::size_t segment, Eigen::Index j) const {
    return scale * std::sqrt(std::max(0.0, inverse[segment](j, j)));
  }
};

constexpr double kExact = 1e-9;  // residuals below are rounding

// Reweighted steps of all lines with one scale, from the values in `estimate`. Without signs: a
// bootstrap of an estimate on the edge of what is allowed would be wrong (Andrews 2000).
void refit(const std::vector<KeptPoint>& points, WeightedFit& estimate, int steps) {
  const double parameters = 2.0 * static_cast<double>(estimate.values.size());
  estimate.residuals.resize(points.size());
  estimate.weights.resize(points.size());
  const auto find_residuals = [&] {
    for (std::size_t i = 0; i < points.size(); ++i)
      estimate.residuals[i] =
          points[i].target - points[i].row.dot(estimate.values[points[i].segment]);
  };
  find_residuals();
  for (int step = 0; step < steps; ++step) {
    std::vector<Eigen::Matrix2d> normal(estimate.values.size(), Eigen::Matrix2d::Zero());
    std::vector<Eigen::Vector2d> right(estimate.values.size(), Eigen::Vector2d::Zero());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const KeptPoint& point = points[i];
      const double weight = tukey_weight(estimate.residuals[i] / std::max(estimate.scale, kExact));
      estimate.weights[i] = weight;
      normal[point.segment] += weight * point.row.transpose() * point.row;
      right[point.segment] += weight * point.target * point.row.transpose();
    }
    for (std::size_t k = 0; k < estimate.values.size(); ++k) {
      const double determinant = normal[k].determinant();
      if (determinant <= 1e-14 * normal[k](0, 0) * normal[k](1, 1)) continue;
      estimate.inverse[k] = normal[k].inverse();
      estimate.values[k] = estimate.inverse[k] * right[k];
    }
    find_residuals();
    estimate.scale =
        std::max(weighted_scale(estimate.residuals, estimate.weights, parameters), kExact / 10);
  }
}

// Each residual as large as it would be had the line not been drawn towards it.
std::vector<double> freed_residuals(const std::vector<KeptPoint>& points,
                                    const WeightedFit& estimate) {
  std::vector<double> pool;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Eigen::RowVector2d& row = points[i].row;
    const double leverage =
        estimate.weights[i] * row * estimate.inverse[points[i].segment] * row.transpose();
    if (leverage < 0.95) pool.push_back(estimate.residuals[i] / std::sqrt(1 - leverage));
  }
  return pool;
}

double quantile_95(std::vector<double> values) {
  const std::size_t at = std::min(values.size() - 1, values.size() * 95 / 100);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

// |t*| at 95 % for alpha and beta of each segment.
std::vector<std::array<double, 2>> studentised(const std::vector<KeptPoint>& points,
                                               const WeightedFit& estimate,
                                               const std::vector<double>& pool,
                                               const BootstrapOptions& options) {
  std::mt19937_64 random(options.seed);
  std::vector<std::array<std::vector<double>, 2>> t(estimate.values.size());
  std::vector<KeptPoint> sample = points;
  for (int s = 0; s < options.samples; ++s) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      // The top bit is the sign, the next 32 choose the residual.
      const std::uint64_t bits = random();
      const std::size_t at =
          static_cast<std::size_t>(((bits >> 31) & 0xFFFFFFFFU) * pool.size() >> 32);
      const double noise = (bits >> 63) != 0 ? -pool[at] : pool[at];
      sample[i].target = points[i].row.dot(estimate.values[points[i].segment]) + noise;
    }
    WeightedFit again = estimate;
    refit(sample, again, 5);
    for (std::size_t k = 0; k < estimate.values.size(); ++k) {
      for (Eigen::Index j = 0; j < 2; ++j) {
        const double error = again.standard_error(k, j);
        const double difference = std::abs(again.values[k](j) - estimate.values[k](j));
        t[k][static_cast<std::size_t>(j)].push_back(error > 0 ? difference / error : 0);
      }
    }
  }
  std::vector<std::array<double, 2>> quantiles;
  for (auto& pair : t)
    quantiles.push_back({quantile_95(std::move(pair[0])), quantile_95(std::move(pair[1]))});
  return quantiles;
}

}  // namespace

double student_95(double degrees_of_freedom) {
  const double dof = std::max(1.0, degrees_of_freedom);
  constexpr std::array<double, 3> kFew = {12.706, 4.303, 3.182};
  if (dof < 3) {
    const std::size_t at = dof < 2 ? 0 : 1;
    const double share = dof - 1 - static_cast<double>(at);
    return kFew[at] * std::pow(kFew[at + 1] / kFew[at], share);
  }
  // Cornish and Fisher's expansion about the Gaussian quantile.
  const double z = 1.959964;
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  return z + (z3 + z) / (4 * dof) + (5 * z5 + 16 * z3 + 3 * z) / (96 * dof * dof) +
         (3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) / (384 * dof * dof * dof);
}

std::vector<LineError> bootstrap_lines(const Segmentation& segmentation,
                                       const BootstrapInput& input,
                                       const BootstrapOptions& options) {
  const std::size_t count = segmentation.lines.size();
  std::vector<KeptPoint> points;
  std::vector<double> unit(count);
  std::vector<std::size_t> kept(count, 0);
  WeightedFit estimate;
  estimate.scale = segmentation.scale;
  for (std::size_t k = 0; k < count; ++k) {
    const Line& line = segmentation.lines[k];
    const std::size_t begin = segmentation.begin(k);
    const auto part = segmentation.part(input.points, k);
    unit[k] = std::max(part.back().bytes, 1.0);
    const Eigen::MatrixX2d rows = sensitivity(line, part);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const double r = residual(line, part[i]);
      if (tukey_weight(r / segmentation.scale) <= 0) continue;
      ++kept[k];
      points.push_back({.segment = k,
                        .row = rows.row(static_cast<Eigen::Index>(i)),
                        .target = r + 1 / part[i].uncertainty,
                        .own = input.own_uncertainty[begin + i] / part[i].uncertainty});
    }
    estimate.values.push_back({line.alpha_s, line.beta_s_per_byte * unit[k]});
    estimate.inverse.emplace_back(Eigen::Matrix2d::Zero());
  }
  refit(points, estimate, 10);

  double own_square = 0;
  double freedom = -2.0 * static_cast<double>(count);
  for (std::size_t i = 0; i < points.size(); ++i) {
    own_square += points[i].own * points[i].own / static_cast<double>(points.size());
    freedom += estimate.weights[i];
  }
  const double student = student_95(freedom);
  std::vector<std::array<double, 2>> quantiles(count, {student, student});
  const std::vector<double> pool = freed_residuals(points, estimate);
  if (pool.size() >= 4 && estimate.scale > kExact) {
    quantiles = studentised(points, estimate, pool, options);
    for (auto& pair : quantiles)
      for (double& q : pair) q = std::max(q, student);
  }
  estimate.scale = std::max(estimate.scale, std::sqrt(own_square));

  std::vector<LineError> errors;
  for (std::size_t k = 0; k < count; ++k) {
    const Line& line = segmentation.lines[k];
    const double beta = estimate.values[k](1) / unit[k];
    const double alpha_reach = quantiles[k][0] * estimate.standard_error(k, 0);
    const double beta_reach = quantiles[k][1] * estimate.standard_error(k, 1) / unit[k];
    LineError error{
        .alpha_low_s = std::clamp(estimate.values[k](0) - alpha_reach, 0.0, line.alpha_s),
        .alpha_high_s = std::max(estimate.values[k](0), line.alpha_s) + alpha_reach,
        .beta_low_s_per_byte = std::clamp(beta - beta_reach, 0.0, line.beta_s_per_byte),
        .beta_high_s_per_byte = std::max(beta, line.beta_s_per_byte) + beta_reach};
    if (kept[k] < 2) {
      // One point or none: alpha and beta share its time in any way.
      const std::size_t last = segmentation.ends[k] - 1;
      const double time_s = input.points[last].time_s;
      error = {0, time_s, 0, time_s / unit[k]};
    }
    errors.push_back(error);
  }
  return errors;
}

}  // namespace forescale
