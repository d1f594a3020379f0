#include "calibrate/fit/monotone.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

namespace forescale {
namespace {

using Eigen::Index;

// By how much the time falls at the breakpoint, <= 0 where it does not.
double fall_s(const Line& before, const Line& after, double breakpoint) {
  return before.time_s(breakpoint) - after.time_s(breakpoint);
}

bool falls(const std::vector<Line>& lines, std::span<const double> breakpoints) {
  for (std::size_t k = 0; k + 1 < lines.size(); ++k)
    if (fall_s(lines[k], lines[k + 1], breakpoints[k]) > 0) return true;
  return false;
}

// min (x - free)' hessian (x - free) / 2 over rows x >= 0.
Eigen::VectorXd constrained(const Eigen::VectorXd& free, const Eigen::MatrixXd& hessian,
                            const Eigen::MatrixXd& rows) {
  const Eigen::MatrixXd spread = hessian.ldlt().solve(rows.transpose());
  const Eigen::MatrixXd dual = rows * spread;
  const Eigen::VectorXd slack = rows * free;
  Eigen::VectorXd multipliers = Eigen::VectorXd::Zero(rows.rows());
  for (int sweep = 0; sweep < 2000; ++sweep) {
    double change = 0;
    for (Index j = 0; j < rows.rows(); ++j) {
      const double gradient = dual.row(j).dot(multipliers) + slack(j);
      const double next = std::max(0.0, multipliers(j) - gradient / dual(j, j));
      change = std::max(change, std::abs(next - multipliers(j)));
      multipliers(j) = next;
    }
    if (change <= 1e-13 * (1 + multipliers.maxCoeff())) break;
  }
  return free + spread * multipliers;
}

}  // namespace

void make_monotone(Segmentation& segmentation, std::span<const RelativePoint> points,
                   std::span<const double> breakpoints) {
  std::vector<Line>& lines = segmentation.lines;
  if (!falls(lines, breakpoints)) return;
  const Index count = static_cast<Index>(lines.size());
  // What pulled at the free lines pulls at these: were the loss's weights taken anew, it would be
  // cheapest to give up all points of one side.
  std::vector<double> weights(points.size());
  for (std::size_t k = 0; k < lines.size(); ++k) {
    int kept = 0;
    for (std::size_t i = segmentation.begin(k); i < segmentation.ends[k]; ++i) {
      weights[i] = tukey_weight(residual(lines[k], points[i]) / segmentation.scale);
      kept += weights[i] > 0 ? 1 : 0;
    }
    // Two falling sizes between given breakpoints may both be off; something must hold the line.
    for (std::size_t i = segmentation.begin(k); kept < 2 && i < segmentation.ends[k]; ++i)
      weights[i] = 1;
  }
  for (int step = 0; step < 10; ++step) {
    // Unknowns (alpha_k, beta_k) in units that make the Hessian's diagonal 1.
    Eigen::MatrixXd hessian = Eigen::MatrixXd::Zero(2 * count, 2 * count);
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(2 * count);
    Eigen::VectorXd unit = Eigen::VectorXd::Ones(2 * count);
    for (Index k = 0; k < count; ++k) {
      const std::size_t segment = static_cast<std::size_t>(k);
      const Line& line = lines[segment];
      for (std::size_t i = segmentation.begin(segment); i < segmentation.ends[segment]; ++i) {
        const RelativePoint& point = points[i];
        const double target = linearised_target(residual(line, point) * point.uncertainty);
        if (weights[i] <= 0) continue;
        const Eigen::Vector2d row =
            Eigen::Vector2d(1, point.bytes) / (fitted_s(line, point) * point.uncertainty);
        hessian.block<2, 2>(2 * k, 2 * k) += weights[i] * row * row.transpose();
        gradient.segment<2>(2 * k) += weights[i] * target / point.uncertainty * row;
      }
      for (Index j = 2 * k; j < 2 * k + 2; ++j)
        if (hessian(j, j) > 0) unit(j) = 1 / std::sqrt(hessian(j, j));
    }
    hessian = unit.asDiagonal() * hessian * unit.asDiagonal();
    hessian.diagonal().array() += 1e-12;  // a segment with fewer than two points left
    gradient = unit.asDiagonal() * gradient;
    Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(3 * count - 1, 2 * count);
    rows.topRows(2 * count).setIdentity();
    for (Index k = 0; k + 1 < count; ++k) {
      const double at = breakpoints[static_cast<std::size_t>(k)];
      rows.row(2 * count + k).segment<4>(2 * k) << -unit(2 * k), -at * unit(2 * k + 1),
          unit(2 * k + 2), at * unit(2 * k + 3);
      rows.row(2 * count + k).normalize();
    }
    const Eigen::VectorXd free = hessian.ldlt().solve(gradient);
    const Eigen::VectorXd next = unit.asDiagonal() * constrained(free, hessian, rows);
    for (Index k = 0; k < count; ++k)
      lines[static_cast<std::size_t>(k)] = {std::max(0.0, next(2 * k)),
                                            std::max(0.0, next(2 * k + 1))};
  }
  // What rounding left; the sum may round down once more.
  constexpr double kUp = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k + 1 < lines.size(); ++k) {
    double& alpha_s = lines[k + 1].alpha_s;
    for (double fall = fall_s(lines[k], lines[k + 1], breakpoints[k]); fall > 0;
         fall = fall_s(lines[k], lines[k + 1], breakpoints[k]))
      alpha_s = std::nextafter(alpha_s + fall, kUp);
  }
}

}  // namespace forescale
